// What of three.js the pages use. `three.min.js` is made of it, with three 0.170.0 from npm beside it:
//   npx esbuild three.entry.js --bundle --minify --format=iife --global-name=THREE --target=es2020 --legal-comments=none --outfile=three.min.js
export {
  WebGLRenderer, Scene, Group, Object3D, PerspectiveCamera, OrthographicCamera, Mesh, LineSegments, Line, LineLoop,
  BufferGeometry, BufferAttribute, InstancedMesh, MeshStandardMaterial, MeshLambertMaterial, MeshBasicMaterial, LineBasicMaterial,
  ShaderMaterial, CylinderGeometry, ConeGeometry, SphereGeometry, BoxGeometry, TorusGeometry, PlaneGeometry, TubeGeometry,
  CatmullRomCurve3, AmbientLight, HemisphereLight, DirectionalLight, Color, Fog, Vector2, Vector3, Quaternion, Matrix4, Euler, Box3,
  Raycaster, Clock, DoubleSide, FrontSide, PCFSoftShadowMap, ShadowMaterial, SRGBColorSpace, ACESFilmicToneMapping, NoToneMapping,
  DynamicDrawUsage, CanvasTexture, Sprite, SpriteMaterial, MathUtils, REVISION,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
