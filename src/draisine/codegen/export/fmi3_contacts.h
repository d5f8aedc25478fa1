/*
 * Equations with contacts that stick, slip and open: rates and event indicators in the present modes, changes of modes, and steps.
 *
 * A machine with the stepping loop of contacts computes them. model.h includes its header, gives MACHINE(name), the name of one of its
 * functions, and names for messages: contact_names, status_texts. Each contact has two indicators, positive inside its mode: the gap
 * while it is open, else the normal force; the friction that is left while it sticks, else the slip along its direction.
 * In model exchange events change the modes, where velocities may jump; states return to the constraints there, too.
 */

#define MOST_CHANGES 100 /* of modes at one time */
#define NOW(m) (m)->values.t, (m)->values.x, (m)->values.u, (m)->values.p

static MACHINE(machine) *machine_of(const Instance *m) { return (MACHINE(machine) *)m->machine; }

/* State and modes from the machine. */
static void take(Instance *m) {
    memcpy(m->values.x, MACHINE(state)(machine_of(m)), NX * sizeof(double));
    MACHINE(mode_parameters)(machine_of(m), m->values.p + NP);
    changed(m);
}

static bool motion_start(Instance *m) {
    free(m->machine);
    m->machine = (Machine *)MACHINE(new)();
    if (m->machine != NULL) MACHINE(mode_parameters)(machine_of(m), m->values.p + NP);
    return m->machine != NULL;
}

static void motion_free(Instance *m) { free(m->machine); }
static size_t motion_size(void) { return MACHINE(size)(); }
static void motion_keep(const Instance *m, void *kept) { memcpy(kept, m->machine, MACHINE(size)()); }

static void motion_restore(Instance *m, const void *kept) {
    MACHINE(restore)(machine_of(m), kept);
    m->states_changed = m->inputs_changed = m->parameters_changed = m->drifted = false;
    m->ended = -1;
}

static void motion_rates(Instance *m, double *rates) { MACHINE(rates)(machine_of(m), NOW(m), rates); }

static void motion_indicators(Instance *m, double *indicators) {
    MACHINE(margins)(machine_of(m), NOW(m), indicators);
    for (int k = 0; k < NE; k++) indicators[k] += m->values.shift[k];
}

/* ---------------------------------------------------------------- changes of modes */

/* An importer takes an indicator that is zero for one that has changed its sign: where a mode begins it is made positive, by rounding errors.
   Returns the first one that is negative by more than these, or -1. */
static long shift_indicators(Instance *m) {
    double margins[NE], least[NE];
    long negative = -1;
    MACHINE(margins)(machine_of(m), NOW(m), margins);
    MACHINE(negligible)(machine_of(m), margins, least);
    for (int k = 0; k < NE; k++) {
        m->values.shift[k] = margins[k] > least[k] ? 0.0 : least[k] - margins[k];
        if (negative < 0 && margins[k] < -least[k]) negative = k;
    }
    m->indicators_known = false;
    return negative;
}

static Status tell(Instance *m, int status) {
    static const char *const words[] = {"is open", "slips", "sticks"};
    if (status == MACHINE(REACHED)) return OK;
    char message[400];
    const int left = MACHINE(left)(machine_of(m));
    const double t = MACHINE(time)(machine_of(m));
    if (status == MACHINE(MODE_LEFT) && left >= 0) {
        int modes[NK];
        MACHINE(modes)(machine_of(m), modes);
        snprintf(message, sizeof message, "at t = %.9g s contact '%.100s' %s, which is not among the modes of this FMU; export it with this mode", t,
                 contact_names[left], words[modes[left]]);
    } else
        snprintf(message, sizeof message, "the motion ends at t = %.9g s: %.300s", t, status_texts[status]);
    return complain(m, ERROR, message);
}

/* The start of a run, also where the importer has set states or parameters: modes of a state that it has set follow from it. */
static Status motion_begin(Instance *m) {
    if (m->states_changed) {
        MACHINE(guess)(machine_of(m), NOW(m));
        MACHINE(mode_parameters)(machine_of(m), m->values.p + NP);
    }
    changed(m);
    if (check_constraints(m) != OK) return ERROR;
    MACHINE(set_tolerance)(machine_of(m), m->tolerance);
    const int status = MACHINE(begin)(machine_of(m), m->values.t, m->values.x, NULL, m->values.u, m->values.p);
    take(m);
    m->states_changed = m->inputs_changed = false;
    if (status == MACHINE(REACHED)) shift_indicators(m);
    return tell(m, status);
}

static long first_ended(Instance *m) {
    double values[NE];
    motion_indicators(m, values);
    for (int k = 0; k < NE; k++)
        if (values[k] <= 0.0) return k;
    return -1;
}

static Status motion_update(Instance *m, bool *states) {
    double before[AT_LEAST_ONE(NX)];
    memcpy(before, m->values.x, NX * sizeof(double));
    Status result = OK;
    if (m->states_changed || m->parameters_changed) result = motion_begin(m);
    else {
        long row = m->ended >= 0 ? m->ended : first_ended(m);
        bool changes = row >= 0 || m->inputs_changed; /* forces may have jumped */
        if (!changes && m->drifted) {
            MACHINE(settle)(machine_of(m), NOW(m));
            take(m);
            shift_indicators(m);
        }
        for (int count = 0; changes && result == OK; count++) {
            if (count == MOST_CHANGES) return complain(m, ERROR, "modes of contacts change without an advance of time");
            const int status = MACHINE(change)(machine_of(m), NOW(m), row);
            take(m);
            result = tell(m, status);
            if (result == OK) row = shift_indicators(m);
            changes = row >= 0;
        }
    }
    m->ended = -1;
    m->drifted = m->inputs_changed = false;
    *states = memcmp(before, m->values.x, NX * sizeof(double)) != 0;
    return result;
}

/* Directions of slips follow them. Events where the equations change, where a slip has stopped, and where constraints have drifted. */
static Status motion_completed(Instance *m, bool *event) {
    double residual;
    *event = MACHINE(completed)(machine_of(m), NOW(m), &m->ended, &residual);
    if (MACHINE(inside)(machine_of(m))) return complain(m, ERROR, "a body is inside the ground: an event was missed, or a body is too thin");
    MACHINE(mode_parameters)(machine_of(m), m->values.p + NP);
    m->drifted = residual > fmax(1e-9, m->tolerance);
    *event = *event || m->drifted;
    changed(m);
    return OK;
}

/* ---------------------------------------------------------------- co-simulation */

static Status motion_step(Instance *m, double target, double step) {
    (void)step;
    if (m->states_changed || m->parameters_changed) {
        const Status begun = motion_begin(m);
        if (begun != OK) return begun;
    }
    MACHINE(set_inputs)(machine_of(m), m->values.u);
    if (m->inputs_changed) MACHINE(disturb)(machine_of(m));
    m->inputs_changed = false;
    const int status = MACHINE(advance)(machine_of(m), target);
    m->values.t = MACHINE(time)(machine_of(m));
    take(m);
    if (status == MACHINE(REACHED)) shift_indicators(m);
    return tell(m, status);
}
