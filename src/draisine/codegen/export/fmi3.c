/*
 * FMI 3.0 for model exchange and co-simulation, around generated functions.
 *
 * model.h gives the sizes NX, NU, NP, NR (states, inputs, parameters, reported numbers), the TOKEN, the values at the start, and
 *     static void model_slope(double t, const double *x, const double *u, const double *p, double *slope);
 *     static void model_report(double t, const double *x, const double *u, const double *p, double *report);
 * the place FIRST_RESIDUAL of the NC constraint residuals among the reported numbers, with residual_names,
 * and, if the derivatives switch, the number NE of event indicators, zero where they do, and
 *     static void model_indicators(double t, const double *x, const double *u, const double *p, double *indicators);
 * With position constraints HAS_PROJECTION is defined, and one Newton step towards them writes the new states and the residual before it:
 *     static void model_projection(double t, const double *x, const double *u, const double *p, double *projection);
 * Value references count through: time, states, their derivatives, inputs, parameters, reported numbers, event indicators.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#ifndef NE
#define NE 0
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

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#define LARGEST_RESIDUAL 1e-6 /* m, rad, m/s: consistent starts have less than 1e-9 */
#define AT_LEAST_ONE(n) ((n) > 0 ? (n) : 1)
#define USUAL_TOLERANCE 1e-8 /* of co-simulation, where the importer gives none */
#define PROJECTIONS 4        /* Newton steps onto the constraints after a step, at most */

enum { FIRST_STATE = 1, FIRST_SLOPE = FIRST_STATE + NX, FIRST_INPUT = FIRST_SLOPE + NX, FIRST_PARAMETER = FIRST_INPUT + NU,
       FIRST_REPORTED = FIRST_PARAMETER + NP, FIRST_INDICATOR = FIRST_REPORTED + NR, END = FIRST_INDICATOR + NE };

typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;
typedef uint32_t Reference;
typedef void (*LogMessage)(void *environment, Status status, const char *category, const char *message);

/* Everything that changes: this is the state that can be kept and brought back. */
typedef struct {
    double t, x[AT_LEAST_ONE(NX)], u[AT_LEAST_ONE(NU)], p[AT_LEAST_ONE(NP)];
    double length; /* of the next step of co-simulation, or 0 */
} Values;

typedef struct {
    Values values;
    double slope[AT_LEAST_ONE(NX)], report[AT_LEAST_ONE(NR)], indicators[AT_LEAST_ONE(NE)];
    bool slope_known, report_known, indicators_known, parameters_changed;
    double tolerance;
    void *environment;
    LogMessage log;
} Instance;

static Status complain(const Instance *m, Status status, const char *message) {
    if (m != NULL && m->log != NULL) m->log(m->environment, status, "error", message);
    return status;
}

static void changed(Instance *m) { m->slope_known = m->report_known = m->indicators_known = false; }

static void start(Instance *m) {
    memset(&m->values, 0, sizeof m->values);
    memcpy(m->values.x, start_states, NX * sizeof(double));
    memcpy(m->values.p, start_parameters, NP * sizeof(double));
    changed(m);
}

static const double *slope(Instance *m) {
    if (!m->slope_known) model_slope(m->values.t, m->values.x, m->values.u, m->values.p, m->slope);
    m->slope_known = true;
    return m->slope;
}

static const double *report(Instance *m) {
    if (!m->report_known) model_report(m->values.t, m->values.x, m->values.u, m->values.p, m->report);
    m->report_known = true;
    return m->report;
}

static const double *indicators(Instance *m) {
    if (!m->indicators_known) model_indicators(m->values.t, m->values.x, m->values.u, m->values.p, m->indicators);
    m->indicators_known = true;
    return m->indicators;
}

/* ---------------------------------------------------------------- creation */

EXPORTED const char *fmi3GetVersion(void) { return "3.0"; }

EXPORTED Status fmi3SetDebugLogging(void *instance, bool on, size_t n, const char *const categories[]) {
    (void)instance, (void)on, (void)n, (void)categories;
    return OK;
}

static void *instantiate(const char *token, void *environment, LogMessage log) {
    if (token == NULL || strcmp(token, TOKEN) != 0) {
        if (log != NULL) log(environment, ERROR, "error", "the instantiation token is not that of this FMU; its description is of another version");
        return NULL;
    }
    Instance *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->environment = environment;
    m->log = log;
    m->tolerance = USUAL_TOLERANCE;
    start(m);
    return m;
}

EXPORTED void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                            void *environment, LogMessage log) {
    (void)name, (void)resources, (void)visible, (void)logging;
    return instantiate(token, environment, log);
}

EXPORTED void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                           bool events, bool early, const Reference needed[], size_t n, void *environment,
                                           LogMessage log, void *update) {
    (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)needed, (void)n, (void)update;
    return instantiate(token, environment, log);
}

EXPORTED void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                                 void *environment, LogMessage log, void *clock, void *lock, void *unlock) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)clock, (void)lock, (void)unlock;
    if (log != NULL) log(environment, ERROR, "error", "this FMU is for model exchange and co-simulation");
    return NULL;
}

EXPORTED void fmi3FreeInstance(void *instance) { free(instance); }

/* ---------------------------------------------------------------- modes */

EXPORTED Status fmi3EnterInitializationMode(void *instance, bool has_tolerance, double tolerance, double time, bool has_end, double end) {
    (void)has_end, (void)end;
    Instance *m = instance;
    m->values.t = time;
    if (has_tolerance && tolerance > 0.0) m->tolerance = fmax(tolerance, 1e-13);
    changed(m);
    return OK;
}

EXPORTED Status fmi3Reset(void *instance) {
    start(instance);
    return OK;
}

#define NOTHING_TO_DO(name) \
    EXPORTED Status name(void *instance) { (void)instance; return OK; }
NOTHING_TO_DO(fmi3EnterEventMode)
NOTHING_TO_DO(fmi3EnterStepMode)
NOTHING_TO_DO(fmi3EvaluateDiscreteStates)
NOTHING_TO_DO(fmi3Terminate)

/* A length given as parameter, or a state, may contradict the constraints: such a motion would be wrong from its start. */
static Status check_constraints(Instance *m) {
    for (int k = 0; k < NC; k++) {
        const double residual = report(m)[FIRST_RESIDUAL + k];
        if (fabs(residual) <= LARGEST_RESIDUAL) continue;
        char message[400];
        snprintf(message, sizeof message, "the states do not fulfill the constraint '%.100s' (residual %g) with these parameters; "
                 "export the FMU with these values, or set states that do", residual_names[k], residual);
        return complain(m, ERROR, message);
    }
    m->parameters_changed = false;
    return OK;
}

EXPORTED Status fmi3ExitInitializationMode(void *instance) { return check_constraints(instance); }

EXPORTED Status fmi3EnterContinuousTimeMode(void *instance) {
    Instance *m = instance;
    return m->parameters_changed ? check_constraints(m) : OK;
}

EXPORTED Status fmi3UpdateDiscreteStates(void *instance, bool *again, bool *end, bool *nominals, bool *states, bool *timed, double *time) {
    (void)instance;
    *again = *end = *nominals = *states = *timed = false;
    *time = 0.0;
    return OK;
}

EXPORTED Status fmi3CompletedIntegratorStep(void *instance, bool no_return, bool *event, bool *end) {
    (void)instance, (void)no_return;
    *event = *end = false;
    return OK;
}

/* ---------------------------------------------------------------- values */

EXPORTED Status fmi3GetFloat64(void *instance, const Reference references[], size_t n, double values[], size_t count) {
    Instance *m = instance;
    if (count != n) return complain(m, ERROR, "all variables of this FMU are numbers: one value per reference is expected");
    for (size_t k = 0; k < n; k++) {
        const Reference r = references[k];
        if (r >= END) return complain(m, ERROR, "a value reference does not exist");
        if (r >= FIRST_INDICATOR) values[k] = indicators(m)[r - FIRST_INDICATOR];
        else if (r >= FIRST_REPORTED) values[k] = report(m)[r - FIRST_REPORTED];
        else if (r >= FIRST_PARAMETER) values[k] = m->values.p[r - FIRST_PARAMETER];
        else if (r >= FIRST_INPUT) values[k] = m->values.u[r - FIRST_INPUT];
        else if (r >= FIRST_SLOPE) values[k] = slope(m)[r - FIRST_SLOPE];
        else if (r >= FIRST_STATE) values[k] = m->values.x[r - FIRST_STATE];
        else values[k] = m->values.t;
    }
    return OK;
}

EXPORTED Status fmi3SetFloat64(void *instance, const Reference references[], size_t n, const double values[], size_t count) {
    Instance *m = instance;
    if (count != n) return complain(m, ERROR, "all variables of this FMU are numbers: one value per reference is expected");
    for (size_t k = 0; k < n; k++) {
        const Reference r = references[k];
        if (r >= FIRST_PARAMETER && r < FIRST_REPORTED) m->values.p[r - FIRST_PARAMETER] = values[k], m->parameters_changed = true;
        else if (r >= FIRST_INPUT && r < FIRST_PARAMETER) m->values.u[r - FIRST_INPUT] = values[k];
        else if (r >= FIRST_STATE && r < FIRST_SLOPE) m->values.x[r - FIRST_STATE] = values[k];
        else return complain(m, ERROR, "only states, inputs and parameters can be set");
    }
    changed(m);
    return OK;
}

EXPORTED Status fmi3SetTime(void *instance, double time) {
    Instance *m = instance;
    m->values.t = time;
    changed(m);
    return OK;
}

EXPORTED Status fmi3SetContinuousStates(void *instance, const double states[], size_t n) {
    Instance *m = instance;
    if (n != NX) return complain(m, ERROR, "the number of states is wrong");
    memcpy(m->values.x, states, NX * sizeof(double));
    changed(m);
    return OK;
}

EXPORTED Status fmi3GetContinuousStates(void *instance, double states[], size_t n) {
    Instance *m = instance;
    if (n != NX) return complain(m, ERROR, "the number of states is wrong");
    memcpy(states, m->values.x, NX * sizeof(double));
    return OK;
}

EXPORTED Status fmi3GetContinuousStateDerivatives(void *instance, double derivatives[], size_t n) {
    Instance *m = instance;
    if (n != NX) return complain(m, ERROR, "the number of states is wrong");
    memcpy(derivatives, slope(m), NX * sizeof(double));
    for (size_t k = 0; k < n; k++)
        if (!isfinite(derivatives[k])) return complain(m, DISCARD, "a derivative is not finite: the state is singular, or the step too long");
    return OK;
}

EXPORTED Status fmi3GetNominalsOfContinuousStates(void *instance, double nominals[], size_t n) {
    (void)instance;
    for (size_t k = 0; k < n; k++) nominals[k] = 1.0;
    return OK;
}

EXPORTED Status fmi3GetNumberOfContinuousStates(void *instance, size_t *n) {
    (void)instance;
    *n = NX;
    return OK;
}

EXPORTED Status fmi3GetNumberOfEventIndicators(void *instance, size_t *n) {
    (void)instance;
    *n = NE;
    return OK;
}

EXPORTED Status fmi3GetEventIndicators(void *instance, double values[], size_t n) {
    Instance *m = instance;
    if (n != NE) return complain(m, ERROR, "the number of event indicators is wrong");
    memcpy(values, indicators(m), NE * sizeof(double));
    return OK;
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

EXPORTED Status fmi3DoStep(void *instance, double time, double step, bool no_return, bool *event, bool *end, bool *early, double *last) {
    (void)no_return;
    Instance *m = instance;
    Values *v = &m->values;
    *event = *end = *early = false;
    *last = v->t;
    const double target = time + step, small = 16.0 * 2.3e-16 * fmax(fabs(target), fabs(step));
    if (fabs(time - v->t) > 1e-9 * fmax(1.0, fabs(time))) return complain(m, ERROR, "a step begins where the last one ended");
    if (!(step > 0.0)) return complain(m, ERROR, "the length of a step must be positive");
    if (m->parameters_changed && check_constraints(m) != OK) return ERROR;
    double new_state[AT_LEAST_ONE(NX)];
    if (v->length <= 0.0) v->length = fmin(step, 1e-3);
    for (int count = 0; count < MOST_STEPS; count++) {
        const double left = target - v->t;
        if (left <= small) {
            v->t = target;
            changed(m);
            *last = target;
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
        *last = v->t;
        if (!project(m)) return complain(m, ERROR, "the constraints cannot be kept: the position is singular");
        changed(m);
    }
    return complain(m, ERROR, "a step took more than a million internal steps");
}

/* ---------------------------------------------------------------- keeping and bringing back */

EXPORTED Status fmi3GetFMUState(void *instance, void **state) {
    Instance *m = instance;
    if (*state == NULL) *state = malloc(sizeof(Values));
    if (*state == NULL) return complain(m, ERROR, "there is no memory for a copy of the state");
    memcpy(*state, &m->values, sizeof(Values));
    return OK;
}

EXPORTED Status fmi3SetFMUState(void *instance, void *state) {
    Instance *m = instance;
    memcpy(&m->values, state, sizeof(Values));
    changed(m);
    return OK;
}

EXPORTED Status fmi3FreeFMUState(void *instance, void **state) {
    (void)instance;
    free(*state);
    *state = NULL;
    return OK;
}

EXPORTED Status fmi3SerializedFMUStateSize(void *instance, void *state, size_t *size) {
    (void)instance, (void)state;
    *size = sizeof(Values);
    return OK;
}

EXPORTED Status fmi3SerializeFMUState(void *instance, void *state, uint8_t bytes[], size_t size) {
    if (size < sizeof(Values)) return complain(instance, ERROR, "the place for the serialized state is too small");
    memcpy(bytes, state, sizeof(Values));
    return OK;
}

EXPORTED Status fmi3DeserializeFMUState(void *instance, const uint8_t bytes[], size_t size, void **state) {
    if (size != sizeof(Values)) return complain(instance, ERROR, "the serialized state is not one of this FMU");
    if (*state == NULL) *state = malloc(sizeof(Values));
    if (*state == NULL) return complain(instance, ERROR, "there is no memory for a copy of the state");
    memcpy(*state, bytes, sizeof(Values));
    return OK;
}

/* ---------------------------------------------------------------- what a model of numbers alone does not have */

#define REFUSED(name, parameters, ...) \
    EXPORTED Status name parameters { __VA_ARGS__; return complain(instance, ERROR, "this FMU does not have " #name); }
#define REFERENCES const Reference references[], size_t n
#define NO_TYPE(type, c_type) \
    REFUSED(fmi3Get##type, (void *instance, REFERENCES, c_type values[], size_t count), (void)references, (void)values; \
            if (n + count == 0) return OK) \
    REFUSED(fmi3Set##type, (void *instance, REFERENCES, c_type const values[], size_t count), (void)references, (void)values; \
            if (n + count == 0) return OK)

NO_TYPE(Float32, float)
NO_TYPE(Int8, int8_t)
NO_TYPE(UInt8, uint8_t)
NO_TYPE(Int16, int16_t)
NO_TYPE(UInt16, uint16_t)
NO_TYPE(Int32, int32_t)
NO_TYPE(UInt32, uint32_t)
NO_TYPE(Int64, int64_t)
NO_TYPE(UInt64, uint64_t)
NO_TYPE(Boolean, bool)
NO_TYPE(String, const char *)

#define UNUSED4(a, b, c, d) (void)(a), (void)(b), (void)(c), (void)(d)

REFUSED(fmi3GetBinary, (void *instance, REFERENCES, size_t sizes[], const uint8_t *values[], size_t count),
        UNUSED4(references, n, sizes, values), (void)count)
REFUSED(fmi3SetBinary, (void *instance, REFERENCES, const size_t sizes[], const uint8_t *const values[], size_t count),
        UNUSED4(references, n, sizes, values), (void)count)
REFUSED(fmi3GetClock, (void *instance, REFERENCES, bool values[]), UNUSED4(references, n, values, 0))
REFUSED(fmi3SetClock, (void *instance, REFERENCES, const bool values[]), UNUSED4(references, n, values, 0))
REFUSED(fmi3GetNumberOfVariableDependencies, (void *instance, Reference reference, size_t *n), UNUSED4(reference, n, 0, 0))
REFUSED(fmi3GetVariableDependencies, (void *instance, Reference dependent, size_t elements[], Reference independents[],
                                      size_t indices[], int kinds[], size_t n),
        UNUSED4(dependent, elements, independents, indices), (void)kinds, (void)n)
REFUSED(fmi3GetDirectionalDerivative, (void *instance, const Reference unknowns[], size_t n, const Reference knowns[], size_t m,
                                       const double seed[], size_t seeds, double sensitivity[], size_t count),
        UNUSED4(unknowns, n, knowns, m), UNUSED4(seed, seeds, sensitivity, count))
REFUSED(fmi3GetAdjointDerivative, (void *instance, const Reference unknowns[], size_t n, const Reference knowns[], size_t m,
                                   const double seed[], size_t seeds, double sensitivity[], size_t count),
        UNUSED4(unknowns, n, knowns, m), UNUSED4(seed, seeds, sensitivity, count))
REFUSED(fmi3EnterConfigurationMode, (void *instance), (void)0)
REFUSED(fmi3ExitConfigurationMode, (void *instance), (void)0)
REFUSED(fmi3GetIntervalDecimal, (void *instance, REFERENCES, double intervals[], int qualifiers[]),
        UNUSED4(references, n, intervals, qualifiers))
REFUSED(fmi3GetIntervalFraction, (void *instance, REFERENCES, uint64_t counters[], uint64_t resolutions[], int qualifiers[]),
        UNUSED4(references, n, counters, resolutions), (void)qualifiers)
REFUSED(fmi3GetShiftDecimal, (void *instance, REFERENCES, double shifts[]), UNUSED4(references, n, shifts, 0))
REFUSED(fmi3GetShiftFraction, (void *instance, REFERENCES, uint64_t counters[], uint64_t resolutions[]),
        UNUSED4(references, n, counters, resolutions))
REFUSED(fmi3SetIntervalDecimal, (void *instance, REFERENCES, const double intervals[]), UNUSED4(references, n, intervals, 0))
REFUSED(fmi3SetIntervalFraction, (void *instance, REFERENCES, const uint64_t counters[], const uint64_t resolutions[]),
        UNUSED4(references, n, counters, resolutions))
REFUSED(fmi3SetShiftDecimal, (void *instance, REFERENCES, const double shifts[]), UNUSED4(references, n, shifts, 0))
REFUSED(fmi3SetShiftFraction, (void *instance, REFERENCES, const uint64_t counters[], const uint64_t resolutions[]),
        UNUSED4(references, n, counters, resolutions))
REFUSED(fmi3GetOutputDerivatives, (void *instance, REFERENCES, const int32_t orders[], double values[], size_t count),
        UNUSED4(references, n, orders, values), (void)count)
REFUSED(fmi3ActivateModelPartition, (void *instance, Reference clock, double time), UNUSED4(clock, time, 0, 0))
