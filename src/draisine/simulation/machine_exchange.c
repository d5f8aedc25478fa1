
/* ---------------------------------------------------------------- for importers of functional mock-up units */

static void use_usual_kernels(NAME_machine *m) {
    Stepper *s = &m->stepper;
    ContactModes *c = &m->modes;
    s->parameters = c->usual_parameters;
    s->dynamics = c->usual_dynamics;
    s->project = c->usual_project;
    c->margin_kernel = c->usual_margins;
}

size_t NAME_size(void) { return sizeof(NAME_machine); }

/* Addresses are those of this machine, not of that which was kept. */
void NAME_restore(NAME_machine *m, const void *kept) {
    memcpy(m, kept, sizeof *m);
    point_to_memory(m);
    if (m->modes.usual != 0) use_usual_kernels(m);
}

void NAME_mode_parameters(const NAME_machine *m, double *values) {
    memcpy(values, m->modes.mode.at, ENTRIES * NAME_CONTACTS * sizeof(double));
}

/* Time, state, inputs and parameters from the importer; modes stay. */
static void place(NAME_machine *m, double t, const double *x, const double *u, const double *p) {
    Stepper *s = &m->stepper;
    ContactModes *c = &m->modes;
    memcpy(s->x.at, x, NAME_STATES * sizeof(double));
    memcpy(s->point.at, x, NAME_STATES * sizeof(double));
    for (int k = 0; k < NAME_INPUTS; k++) s->u.at[k] = u[k];
    for (int k = 0; k < NAME_PARAMETERS; k++) c->all_parameters.at[k] = c->usual_parameters.at[k] = p[k];
    s->t = t;
}

void NAME_rates(NAME_machine *m, double t, const double *x, const double *u, const double *p, double *rates) {
    const long row = m->stepper.k.rows - 1; /* the first ones belong to the stepping loop */
    place(m, t, x, u, p);
    evaluate(&m->stepper, t, row);
    memcpy(rates, row_of(m->stepper.k, row).at, NAME_STATES * sizeof(double));
}

void NAME_margins(NAME_machine *m, double t, const double *x, const double *u, const double *p, double *margins) {
    place(m, t, x, u, p);
    evaluate_margins(&m->stepper, t, m->stepper.margin_value, 0);
    memcpy(margins, m->stepper.margin_value.at, 2 * NAME_CONTACTS * sizeof(double));
}

/* Values of margins that are errors, in the present modes: of gaps and slips by lengths and velocities, of forces by others. A contact
   that separates slowly stays near zero for many steps, with errors of integration; one that bounces has errors of rounding only. */
void NAME_negligible(NAME_machine *m, const double *margins, double *least) {
    double force = 1e-5;
    const double slow = RESTING * sqrt(m->modes.length * (fall_of(&m->modes) + 1e-300));
    for (int i = 0; i < NAME_CONTACTS; i++)
        if (mode_at(m, i) != 0) force = greatest_of(force, fabs(margins[2 * i]));
    for (int i = 0; i < NAME_CONTACTS; i++) {
        const int mode = mode_at(m, i);
        const int separates = m->modes.normal.at[i] >= 0 && fabs(m->modes.speed.at[m->modes.normal.at[i]]) < slow;
        const double error = separates ? greatest_of(GAP_ERROR, m->modes.tolerance) : GAP_ERROR;
        least[2 * i] = mode == 0 ? error * m->modes.length : 1e-9 * force;
        least[2 * i + 1] = mode == 1 ? 1e-12 * (1.0 + velocity_scale(&m->stepper)) : 1e-9 * force;
    }
}

/* The modes that a state has which the importer has set: open with a gap or a velocity along the normal, else stick without slip. */
void NAME_guess(NAME_machine *m, double t, const double *x, const double *u, const double *p) {
    ContactModes *c = &m->modes;
    leave_usual_modes(&m->stepper);
    place(m, t, x, u, p);
    load_terms(&m->stepper);
    for (int i = 0; i < NAME_CONTACTS; i++) {
        int moves[2] = {0, 0}; /* along the normal, and tangentially */
        for (long w = -1; w < c->ways.at[i]; w++) {
            const long row = w < 0 ? c->normal.at[i] : c->tangential.at[i] + w;
            if (row < 0) continue;
            double own = 0.0, size = 0.0;
            for (long j = 0; j < c->velocities; j++) {
                const double part = c->row.at[row * c->velocities + j] * x[c->first_velocity + j];
                own += part;
                size += fabs(part);
            }
            if (fabs(c->speed.at[row]) > 1e-9 * (size + fabs(c->speed.at[row] - own))) moves[w >= 0] = 1;
        }
        const int open = c->normal.at[i] >= 0 && (c->gap.at[i] > 1e-9 * c->length || moves[0]);
        double *entry = c->mode.at + ENTRIES * i;
        memset(entry, 0, ENTRIES * sizeof(double));
        entry[0] = open ? 0.0 : 1.0;
        entry[1] = !open && c->normal.at[i] >= 0 && !moves[1] ? 1.0 : 0.0; /* dry friction of joints begins as a slip */
    }
    for (int i = 0; i < NAME_CONTACTS; i++) /* resistance to rolling and drilling is there where its contact is */
        if (c->host.at[i] >= 0 && c->mode.at[ENTRIES * c->host.at[i]] == 0.0) c->mode.at[ENTRIES * i] = 0.0;
}

/* Inputs have changed since the last call of NAME_advance. */
void NAME_disturb(NAME_machine *m) {
    if (m->stepper.phase == RUNNING) m->stepper.phase = CHANGED;
}

/* The change of modes where the margin `row` has ended, -1 for none: impacts, then new modes. The state is that of NAME_state. */
int NAME_change(NAME_machine *m, double t, const double *x, const double *u, const double *p, long row) {
    Stepper *s = &m->stepper;
    place(m, t, x, u, p);
    forget(m);
    const long reason = change_modes(s, row);
    if (reason != CONTINUE) return status_of(m, reason);
    return left_contact(m) >= 0 ? NAME_MODE_LEFT : NAME_REACHED;
}

/* After a step of the importer: the directions of slips. 0, or 1 where the equations have changed or are to be changed. The margin of a
   slip that has stopped is in `row`, else it is -1; `residual` is that of the constraints. */
int NAME_completed(NAME_machine *m, double t, const double *x, const double *u, const double *p, long *row, double *residual) {
    Stepper *s = &m->stepper;
    ContactModes *c = &m->modes;
    int grown[NAME_CONTACTS];
    place(m, t, x, u, p);
    start_margins(s, 0);
    for (int i = 0; i < NAME_CONTACTS; i++) grown[i] = c->mode.at[ENTRIES * i + 6] != 0.0;
    *row = follow_slips(s);
    int changed = *row >= 0;
    for (int i = 0; i < NAME_CONTACTS; i++) changed = changed || grown[i] != (c->mode.at[ENTRIES * i + 6] != 0.0);
    if (badly_conditioned(s)) {
        leave_usual_modes(s);
        changed = 1;
    }
    *residual = 0.0;
    if (s->project != NULL) {
        memcpy(s->point.at, x, NAME_STATES * sizeof(double));
        s->time.at[0] = t;
        const double *given[] = {s->time.at, s->point.at, s->u.at, s->parameters.at};
        double *taken[] = {s->new.at, s->scalar.at};
        s->project(given, taken);
        *residual = s->scalar.at[0];
    }
    return changed;
}

/* Onto the constraints of the present modes. */
void NAME_settle(NAME_machine *m, double t, const double *x, const double *u, const double *p) {
    place(m, t, x, u, p);
    return_to_constraints(&m->stepper);
}

int NAME_inside(NAME_machine *m) { return is_inside(&m->stepper); }
int NAME_left(const NAME_machine *m) { return left_contact(m); }
