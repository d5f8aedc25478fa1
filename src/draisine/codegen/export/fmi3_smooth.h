/*
 * Equations without contacts that open: their rates, event indicators, and steps of co-simulation.
 *
 * model.h gives
 *     static void model_slope(double t, const double *x, const double *u, const double *p, double *slope);
 * and, if the derivatives switch (HAS_INDICATORS), zeros where they do
 *     static void model_indicators(double t, const double *x, const double *u, const double *p, double *indicators);
 * With position constraints HAS_PROJECTION is defined, and one Newton step towards them writes the new states and the residual before it:
 *     static void model_projection(double t, const double *x, const double *u, const double *p, double *projection);
 */

#ifndef HAS_INDICATORS
static void model_indicators(double t, const double *x, const double *u, const double *p, double *indicators) {
    (void)t, (void)x, (void)u, (void)p, (void)indicators;
}
#endif

#ifndef HAS_PROJECTION
static void model_projection(double t, const double *x, const double *u, const double *p, double *projection) {
    (void)t, (void)u, (void)p;
    memcpy(projection, x, NX * sizeof(double));
    projection[NX] = 0.0;
}
#endif

#define PROJECTIONS 4 /* Newton steps onto the constraints after a step, at most */

static bool motion_start(Instance *m) { (void)m; return true; }
static void motion_free(Instance *m) { (void)m; }
static size_t motion_size(void) { return 0; }
static void motion_keep(const Instance *m, void *kept) { (void)m, (void)kept; }
static void motion_restore(Instance *m, const void *kept) { (void)m, (void)kept; }
static Status motion_begin(Instance *m) { return check_constraints(m); }
static Status motion_update(Instance *m, bool *states) { (void)m, (void)states; return OK; }
static Status motion_completed(Instance *m, bool *event) { (void)m, (void)event; return OK; }

static void motion_rates(Instance *m, double *rates) { model_slope(m->values.t, m->values.x, m->values.u, m->values.p, rates); }

static void motion_indicators(Instance *m, double *indicators) {
    model_indicators(m->values.t, m->values.x, m->values.u, m->values.p, indicators);
}

/* ---------------------------------------------------------------- co-simulation */

/* J. R. Dormand, P. J. Prince, "A family of embedded Runge-Kutta formulae", J. Comp. Appl. Math. 6 (1980) 19-26; step size control
   and estimate of the first step after Hairer, Norsett & Wanner I, section II.4. */
enum { STAGES = 7, MOST_STEPS = 1000000 };
static const double NODE[STAGES] = {0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0};
static const double WEIGHT[STAGES][STAGES - 1] = {
    {0.0},
    {1.0 / 5.0},
    {3.0 / 40.0, 9.0 / 40.0},
    {44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0},
    {19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0},
    {9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0},
    {35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0}};
static const double ERROR_WEIGHT[STAGES] = {71.0 / 57600.0,      0.0,           -71.0 / 16695.0, 71.0 / 1920.0,
                                            -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0};

/* A step of the length h from the present state: the new state, and the error relative to the tolerance, infinite without values. */
static double attempt(const Instance *m, double h, double *new_state) {
    const Values *v = &m->values;
    double rates[STAGES][AT_LEAST_ONE(NX)], sum = 0.0;
    for (int stage = 0; stage < STAGES; stage++) {
        for (int i = 0; i < NX; i++) {
            double change = 0.0;
            for (int j = 0; j < stage; j++) change += WEIGHT[stage][j] * rates[j][i];
            new_state[i] = v->x[i] + h * change;
        }
        model_slope(v->t + NODE[stage] * h, new_state, v->u, v->p, rates[stage]);
    }
    for (int i = 0; i < NX; i++) {
        double error = 0.0;
        for (int stage = 0; stage < STAGES; stage++) error += ERROR_WEIGHT[stage] * rates[stage][i];
        error *= h / (m->tolerance * (1.0 + fmax(fabs(v->x[i]), fabs(new_state[i]))));
        sum += error * error;
    }
    const double size = sqrt(sum / AT_LEAST_ONE(NX));
    return isfinite(size) ? size : INFINITY;
}

/* Whether a switching function changes its sign during a step: the step must end there. */
static bool switches(Instance *m, double h, const double *new_state) {
    if (NE == 0) return false;
    double after[AT_LEAST_ONE(NE)];
    const double *before = indicators(m);
    model_indicators(m->values.t + h, new_state, m->values.u, m->values.p, after);
    for (int k = 0; k < NE; k++)
        if ((before[k] > 0.0) != (after[k] > 0.0) && before[k] != 0.0) return true;
    return false;
}

/* Newton steps onto the position constraints, as long as the residual exceeds a tenth of the tolerance. */
static bool project(Instance *m) {
    double found[NX + 1];
    for (int k = 0; k < PROJECTIONS; k++) {
        model_projection(m->values.t, m->values.x, m->values.u, m->values.p, found);
        if (found[NX] <= 0.1 * m->tolerance) return true;
        if (!isfinite(found[NX])) return false;
        memcpy(m->values.x, found, NX * sizeof(double));
    }
    return found[NX] <= LARGEST_RESIDUAL;
}

static Status motion_step(Instance *m, double target, double step) {
    Values *v = &m->values;
    const double small = 16.0 * 2.3e-16 * fmax(fabs(target), fabs(step));
    if (m->parameters_changed && check_constraints(m) != OK) return ERROR;
    double new_state[AT_LEAST_ONE(NX)];
    if (v->length <= 0.0) v->length = fmin(step, 1e-3);
    for (int count = 0; count < MOST_STEPS; count++) {
        const double left = target - v->t;
        if (left <= small) {
            v->t = target;
            changed(m);
            return OK;
        }
        const bool ends = v->length * 1.01 >= left;
        const double h = ends ? left : v->length, size = attempt(m, h, new_state);
        const double factor = size > 0.0 && isfinite(size) ? fmin(5.0, fmax(0.2, 0.9 * pow(size, -0.2))) : size > 0.0 ? 0.2 : 5.0;
        if (size > 1.0 || (h > 1e-10 && switches(m, h, new_state))) {
            v->length = size > 1.0 ? h * factor : 0.5 * h; /* steps are halved until a switch lies in a very short one */
            if (v->length > small) continue;
            char message[200];
            snprintf(message, sizeof message, "the motion cannot be continued beyond t = %g: its rates are not finite, or vary too fast", v->t);
            return complain(m, ERROR, message);
        }
        v->t += h;
        memcpy(v->x, new_state, NX * sizeof(double));
        if (!ends || factor < 1.0) v->length = h * factor;
        changed(m);
        if (!project(m)) return complain(m, ERROR, "the constraints cannot be kept: the position is singular");
        changed(m);
    }
    return complain(m, ERROR, "a step took more than a million internal steps");
}
