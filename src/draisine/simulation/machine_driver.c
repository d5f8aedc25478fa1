
/* ---------------------------------------------------------------- the machine */

enum { ENTRIES = 11, MOST_STEPS = 1000000 };

NAME_machine *NAME_new(void) {
    NAME_machine *m = calloc(1, sizeof *m);
    if (m != NULL) lay_out(m);
    return m;
}

void NAME_free(NAME_machine *m) { free(m); }

static int mode_at(const NAME_machine *m, int i) {
    const double *entry = m->stepper.modes->mode.at + ENTRIES * i;
    return entry[0] == 0.0 ? 0 : entry[1] != 0.0 ? 2 : 1;
}

void NAME_modes(const NAME_machine *m, int *modes) {
    for (int i = 0; i < NAME_CONTACTS; i++) modes[i] = mode_at(m, i);
}

/* The first contact in a mode that is not included, or -1. */
static int left_contact(const NAME_machine *m) {
    for (int i = 0; i < NAME_CONTACTS; i++)
        if (!NAME_included[i][mode_at(m, i)]) return i;
    return -1;
}

static int status_of(NAME_machine *m, long reason) {
    if (reason == CONTACT_UNSOLVED) return m->modes.outcome == 1 ? NAME_INCONSISTENT : m->modes.outcome == 2 ? NAME_INDETERMINATE : NAME_UNDECIDED;
    if (reason == TOO_MANY_STEPS) return NAME_TOO_MANY_STEPS;
    return NAME_NO_CONTINUATION;
}

/* Records of steps, and of all changes but the last, are not kept. */
static void forget(NAME_machine *m) {
    ContactModes *c = &m->modes;
    const long last = c->change_count - 1;
    m->stepper.step_count = m->stepper.switch_count = 0;
    if (c->change_count + 2 <= c->change_room) return;
    c->change_time.at[0] = c->change_time.at[last];
    c->change_lost.at[0] = c->change_lost.at[last];
    memmove(c->change_mode.at, c->change_mode.at + last * c->change_mode.columns, c->change_mode.columns * sizeof(long));
    memmove(c->change_entries.at, c->change_entries.at + last * c->change_entries.columns, c->change_entries.columns * sizeof(double));
    memmove(c->change_impulse.at, c->change_impulse.at + last * c->change_impulse.columns, c->change_impulse.columns * sizeof(double));
    c->change_count = 1;
}

int NAME_begin(NAME_machine *m, double t, const double *x, const int *modes, const double *u, const double *p) {
    Stepper *s = &m->stepper;
    ContactModes *c = &m->modes;
    if (p != NULL) memcpy(c->all_parameters.at, p, NAME_PARAMETERS * sizeof(double));
    if (modes != NULL)
        for (int i = 0; i < NAME_CONTACTS; i++) {
            double *entry = c->mode.at + ENTRIES * i;
            memset(entry, 0, ENTRIES * sizeof(double));
            entry[0] = modes[i] == 0 && c->normal.at[i] >= 0 ? 0.0 : 1.0;
            entry[1] = modes[i] == 2 ? 1.0 : 0.0;
        }
    memcpy(c->usual_parameters.at, c->all_parameters.at, c->all_parameters.length * sizeof(double));
    s->parameters = c->all_parameters;
    s->dynamics = c->all_dynamics;
    s->project = c->all_project;
    c->margin_kernel = c->all_margins;
    memset(s->x.at, 0, s->x.length * sizeof(double));
    memcpy(s->x.at, x, NAME_STATES * sizeof(double));
    for (int k = 0; k < NAME_INPUTS; k++) s->u.at[k] = u == NULL ? 0.0 : u[k];
    s->t = t;
    s->end = t + 1.0;
    s->phase = FRESH;
    s->h = 0.0;
    s->accepted = s->rejected = s->step_count = s->sample_count = s->switches_here = 0;
    c->change_count = c->usual = 0;
    c->first_step = 0.0;
    s->budget = 0;
    const long reason = advance(s);
    if (reason != PAUSED && reason != REACHED) return status_of(m, reason);
    return left_contact(m) >= 0 ? NAME_MODE_LEFT : NAME_REACHED;
}

void NAME_set_inputs(NAME_machine *m, const double *u) {
    if (NAME_INPUTS == 0 || memcmp(m->stepper.u.at, u, NAME_INPUTS * sizeof(double)) == 0) return;
    memcpy(m->stepper.u.at, u, NAME_INPUTS * sizeof(double));
    if (m->stepper.phase == RUNNING) m->stepper.phase = CHANGED;
}

int NAME_advance(NAME_machine *m, double until) {
    Stepper *s = &m->stepper;
    if (left_contact(m) >= 0) return NAME_MODE_LEFT;
    s->end = until;
    s->max_steps = s->accepted + s->rejected + MOST_STEPS;
    s->budget = 1;
    for (;;) {
        const long reason = advance(s);
        if (reason == FULL) forget(m);
        else if (reason != PAUSED && reason != REACHED) return status_of(m, reason);
        else if (left_contact(m) >= 0) return NAME_MODE_LEFT;
        else if (reason == REACHED) return NAME_REACHED;
    }
}

void NAME_set_tolerance(NAME_machine *m, double relative) {
    m->stepper.rtol = m->modes.tolerance = relative;
    for (long k = 0; k < m->stepper.atol.length; k++) m->stepper.atol.at[k] = 1e-2 * relative;
}

double NAME_time(const NAME_machine *m) { return m->stepper.t; }
const double *NAME_state(const NAME_machine *m) { return m->stepper.x.at; }
