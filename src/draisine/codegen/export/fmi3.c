/*
 * FMI 3.0 for model exchange and co-simulation, around generated functions.
 *
 * model.h gives the sizes NX, NU, NP, NR (states, inputs, parameters, reported numbers), the TOKEN, the values at the start, and
 *     static void model_report(double t, const double *x, const double *u, const double *p, double *report);
 * the place FIRST_RESIDUAL of the NC constraint residuals among the reported numbers, with residual_names, the number NE of event
 * indicators, and that of contacts that stick, slip and open, NK, whose NM numbers stand behind the parameters in p.
 * MOTION is the file with rates, indicators, events and steps: fmi3_smooth.h, or fmi3_contacts.h.
 * Value references count through: time, states, their derivatives, inputs, parameters, reported numbers, event indicators, modes of contacts.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#define LARGEST_RESIDUAL 1e-6 /* m, rad, m/s: consistent starts have less than 1e-9 */
#define AT_LEAST_ONE(n) ((n) > 0 ? (n) : 1)
#define USUAL_TOLERANCE 1e-8 /* of co-simulation, where the importer gives none */

enum { FIRST_STATE = 1, FIRST_SLOPE = FIRST_STATE + NX, FIRST_INPUT = FIRST_SLOPE + NX, FIRST_PARAMETER = FIRST_INPUT + NU,
       FIRST_REPORTED = FIRST_PARAMETER + NP, FIRST_INDICATOR = FIRST_REPORTED + NR, FIRST_MODE = FIRST_INDICATOR + NE };

typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;
typedef uint32_t Reference;
typedef void (*LogMessage)(void *environment, Status status, const char *category, const char *message);

/* Everything that changes: this is the state that can be kept and brought back. */
typedef struct {
    double t, x[AT_LEAST_ONE(NX)], u[AT_LEAST_ONE(NU)], p[AT_LEAST_ONE(NP + NM)];
    double length;                   /* of the next step of co-simulation, or 0 */
    double shift[AT_LEAST_ONE(NE)]; /* of indicators of contacts that are zero where a mode begins */
} Values;
typedef struct Machine Machine; /* of contacts, beside the values */

typedef struct {
    Values values;
    double slope[AT_LEAST_ONE(NX)], report[AT_LEAST_ONE(NR)], indicators[AT_LEAST_ONE(NE)];
    bool slope_known, report_known, indicators_known, parameters_changed;
    bool states_changed, inputs_changed; /* by the importer, not by its integration */
    bool integrates;                     /* the importer, at present */
    long ended;                          /* the indicator of a contact that ended with a step of the importer, or -1 */
    bool drifted;
    Machine *machine;
    double tolerance;
    void *environment;
    LogMessage log;
} Instance;

static Status complain(const Instance *m, Status status, const char *message) {
    if (m != NULL && m->log != NULL) m->log(m->environment, status, "error", message);
    return status;
}

static void changed(Instance *m) { m->slope_known = m->report_known = m->indicators_known = false; }

static const double *report(Instance *m) {
    if (!m->report_known) model_report(m->values.t, m->values.x, m->values.u, m->values.p, m->report);
    m->report_known = true;
    return m->report;
}

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

static const double *indicators(Instance *m);

#include MOTION

static const double *slope(Instance *m) {
    if (!m->slope_known) motion_rates(m, m->slope);
    m->slope_known = true;
    return m->slope;
}

static const double *indicators(Instance *m) {
    if (!m->indicators_known) motion_indicators(m, m->indicators);
    m->indicators_known = true;
    return m->indicators;
}

static bool start(Instance *m) {
    memset(&m->values, 0, sizeof m->values);
    memcpy(m->values.x, start_states, NX * sizeof(double));
    memcpy(m->values.p, start_parameters, NP * sizeof(double));
    m->parameters_changed = m->states_changed = m->inputs_changed = m->integrates = m->drifted = false;
    m->ended = -1;
    changed(m);
    return motion_start(m);
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
    if (start(m)) return m;
    free(m);
    return NULL;
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

EXPORTED void fmi3FreeInstance(void *instance) {
    if (instance != NULL) motion_free(instance);
    free(instance);
}

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
    return start(instance) ? OK : complain(instance, ERROR, "there is no memory");
}

#define NOTHING_TO_DO(name) \
    EXPORTED Status name(void *instance) { (void)instance; return OK; }
NOTHING_TO_DO(fmi3EnterStepMode)
NOTHING_TO_DO(fmi3EvaluateDiscreteStates)
NOTHING_TO_DO(fmi3Terminate)

EXPORTED Status fmi3EnterEventMode(void *instance) {
    ((Instance *)instance)->integrates = false;
    return OK;
}

EXPORTED Status fmi3ExitInitializationMode(void *instance) { return motion_begin(instance); }

EXPORTED Status fmi3EnterContinuousTimeMode(void *instance) {
    Instance *m = instance;
    m->integrates = true;
    return m->parameters_changed ? check_constraints(m) : OK;
}

EXPORTED Status fmi3UpdateDiscreteStates(void *instance, bool *again, bool *end, bool *nominals, bool *states, bool *timed, double *time) {
    *again = *end = *nominals = *states = *timed = false;
    *time = 0.0;
    return motion_update(instance, states);
}

EXPORTED Status fmi3CompletedIntegratorStep(void *instance, bool no_return, bool *event, bool *end) {
    (void)no_return;
    *event = *end = false;
    return motion_completed(instance, event);
}

/* ---------------------------------------------------------------- values */

EXPORTED Status fmi3GetFloat64(void *instance, const Reference references[], size_t n, double values[], size_t count) {
    Instance *m = instance;
    if (count != n) return complain(m, ERROR, "no variable of this FMU is an array: one value per reference is expected");
    for (size_t k = 0; k < n; k++) {
        const Reference r = references[k];
        if (r >= FIRST_MODE) return complain(m, ERROR, "a value reference does not exist, or is not that of a Float64");
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

static void set_input(Instance *m, Reference k, double value) {
    m->inputs_changed = m->inputs_changed || (!m->integrates && m->values.u[k] != value);
    m->values.u[k] = value;
}

EXPORTED Status fmi3SetFloat64(void *instance, const Reference references[], size_t n, const double values[], size_t count) {
    Instance *m = instance;
    if (count != n) return complain(m, ERROR, "no variable of this FMU is an array: one value per reference is expected");
    for (size_t k = 0; k < n; k++) {
        const Reference r = references[k];
        if (r >= FIRST_PARAMETER && r < FIRST_REPORTED) m->values.p[r - FIRST_PARAMETER] = values[k], m->parameters_changed = true;
        else if (r >= FIRST_INPUT && r < FIRST_PARAMETER) set_input(m, r - FIRST_INPUT, values[k]);
        else if (r >= FIRST_STATE && r < FIRST_SLOPE) m->values.x[r - FIRST_STATE] = values[k], m->states_changed = true;
        else return complain(m, ERROR, "only states, inputs and parameters can be set");
    }
    changed(m);
    return OK;
}

/* Modes of contacts: 0 open, 1 slips, 2 sticks. */
EXPORTED Status fmi3GetInt32(void *instance, const Reference references[], size_t n, int32_t values[], size_t count) {
    Instance *m = instance;
    if (count != n) return complain(m, ERROR, "no variable of this FMU is an array: one value per reference is expected");
    for (size_t k = 0; k < n; k++) {
        const long place = (long)references[k] - FIRST_MODE;
        if (place < 0 || place >= NK) return complain(m, ERROR, "a value reference is not that of an Int32");
        const double *mode = m->values.p + NP + place * (NM / AT_LEAST_ONE(NK)); /* closed, sticks, ... */
        values[k] = mode[0] == 0.0 ? 0 : mode[1] == 0.0 ? 1 : 2;
    }
    return OK;
}

EXPORTED Status fmi3SetInt32(void *instance, const Reference references[], size_t n, const int32_t values[], size_t count) {
    (void)references, (void)values;
    return n + count == 0 ? OK : complain(instance, ERROR, "the modes of contacts follow from states and forces; they cannot be set");
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

EXPORTED Status fmi3DoStep(void *instance, double time, double step, bool no_return, bool *event, bool *end, bool *early, double *last) {
    (void)no_return;
    Instance *m = instance;
    *event = *end = *early = false;
    *last = m->values.t;
    if (fabs(time - m->values.t) > 1e-9 * fmax(1.0, fabs(time))) return complain(m, ERROR, "a step begins where the last one ended");
    if (!(step > 0.0)) return complain(m, ERROR, "the length of a step must be positive");
    const Status status = motion_step(m, time + step, step);
    *last = m->values.t;
    return status;
}

/* ---------------------------------------------------------------- keeping and bringing back */

/* The values, then what contacts need. */
EXPORTED Status fmi3GetFMUState(void *instance, void **state) {
    Instance *m = instance;
    if (*state == NULL) *state = malloc(sizeof(Values) + motion_size());
    if (*state == NULL) return complain(m, ERROR, "there is no memory for a copy of the state");
    memcpy(*state, &m->values, sizeof(Values));
    motion_keep(m, (char *)*state + sizeof(Values));
    return OK;
}

EXPORTED Status fmi3SetFMUState(void *instance, void *state) {
    Instance *m = instance;
    memcpy(&m->values, state, sizeof(Values));
    motion_restore(m, (char *)state + sizeof(Values));
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
    *size = sizeof(Values) + motion_size();
    return OK;
}

EXPORTED Status fmi3SerializeFMUState(void *instance, void *state, uint8_t bytes[], size_t size) {
    const size_t needed = sizeof(Values) + motion_size();
    if (size < needed) return complain(instance, ERROR, "the place for the serialized state is too small");
    memcpy(bytes, state, needed);
    return OK;
}

EXPORTED Status fmi3DeserializeFMUState(void *instance, const uint8_t bytes[], size_t size, void **state) {
    if (size != sizeof(Values) + motion_size()) return complain(instance, ERROR, "the serialized state is not one of this FMU");
    if (*state == NULL) *state = malloc(size);
    if (*state == NULL) return complain(instance, ERROR, "there is no memory for a copy of the state");
    memcpy(*state, bytes, size);
    return OK;
}

/* ---------------------------------------------------------------- what these models do not have */

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
