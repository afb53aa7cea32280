/* The faults: a form with a button for each fault.
 *
 * SPDX-License-Identifier: 0BSD */
import {$, clock, counted, duration, make, setText} from "/dom.js";

const TIMEOUT_MS = 5000;

let fieldsOf = {}; // fault name to fields

/* What each fault does, and the first values of its form. Faults that are
 * missing here are shown by name only. */
const FAULTS = [
    ["Network", {
        latency: ["Each byte is delayed", {ms: 300, for_ms: 30000}],
        bandwidth: ["Limits the bytes per second",
            {bytes_per_s: 2000, for_ms: 30000}],
        slice: ["Limits the bytes that arrive at once", {bytes: 16, for_ms: 30000}],
        freeze: ["Nothing moves, nothing is lost", {for_ms: 10000}],
        reset: ["Connections are reset", {}],
        half_open: ["The client receives nothing more", {}],
        restart: ["All connections are reset, new ones refused",
            {for_ms: 5000}],
    }],
    ["Tokens", {
        token: ["Token requests get this answer",
            {status: 503, retry_after: 2}],
        expires_in: ["Tokens have this lifetime, or none", {}],
        granted: ["Tokens have this type and scope", {}],
        revoke: ["All tokens become invalid", {}],
    }],
    ["Stream", {
        upgrade: ["WebSocket handshakes get this answer",
            {status: 503, retry_after: 2}],
        close: ["Open streams are closed", {code: 1001}],
        no_answer: ["Requests on streams get no answer", {}],
        internal_error: ["Requests on streams get an error", {}],
        no_heartbeat: ["No heartbeats are sent", {for_ms: 30000}],
        garbage: ["Open streams get a broken message", {}],
    }],
    ["Addresses", {
        address: ["Address requests get this answer",
            {status: 503, retry_after: 2}],
        address_lost: ["Address requests take effect without an answer", {}],
    }],
];

/* Sends a change to the sandbox, and shows the result. */
async function changeFaults(change, done) {
    let said = "The sandbox does not answer.";
    let bad = true;

    try {
        const reply = await fetch("/faults", {
            method: "POST",
            headers: {"Content-Type": "application/json"},
            body: JSON.stringify(change),
            signal: AbortSignal.timeout(TIMEOUT_MS),
        });
        const json = await reply.json();

        if (reply.ok) {
            showFaults(json);
        }
        said = reply.ok ? done : `Refused: ${json.detail}`;
        bad = !reply.ok;
    } catch {} // it stays bad
    $("fault-result").className = bad ? "bad" : "";
    setText($("fault-result"), `${clock(new Date())} ${said}`);
}

function createInput(field, value) {
    let input;

    if (field.kind === "choice") {
        input = make("select", "",
            ...field.choices.map((choice) => new Option(choice)));
    } else {
        input = make("input");
        input.type = {number: "number", flag: "checkbox"}[field.kind] || "text";
    }
    if (field.kind === "number") {
        input.min = field.min;
        input.max = field.max;
    }
    input.name = field.name;
    input.required = field.required;
    if (field.kind === "flag") {
        input.checked = value === true;
    } else if (value !== undefined) {
        input.value = String(value);
    }
    return input;
}

/* Returns the parameters in the form; empty fields are absent. */
function readForm(form, fields) {
    const parameters = {};

    for (const {name, kind} of fields) {
        const input = form.elements[name];

        if (kind === "flag") {
            parameters[name] = input.checked;
        } else if (kind === "number" && input.value !== "") {
            parameters[name] = Number(input.value);
        } else if (kind === "any" && input.value !== "") {
            try {
                parameters[name] = JSON.parse(input.value);
            } catch {
                parameters[name] = input.value;
            }
        } else if (input.value !== "") {
            parameters[name] = input.value;
        }
    }
    return parameters;
}

/* Returns true if the fault lasts, false if it happens once when triggered. */
function lasts(fields) {
    return fields.some(({name}) => name === "for_ms" || name === "count");
}

function createFault(name, text, begin, fields) {
    const form = make("form", "fault");
    const button = make("button", "");
    const inputs = fields.map((field) => make("label", "",
        make("span", "", field.name), createInput(field,
            begin[field.name] === undefined ? field.otherwise
                : begin[field.name])));

    form.dataset.key = name;
    button.type = "submit";
    form.append(make("div", "", make("h4", "", name), make("p", "state"),
        make("p", "aside", text)), button);
    if (inputs.length > 0) {
        form.append(make("details", "", make("summary"),
            make("div", "fields", ...inputs)));
    }
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (form.classList.contains("active")) {
            changeFaults({[name]: null}, `${name} has ended.`);
        } else {
            changeFaults({[name]: readForm(form, fields)}, lasts(fields)
                ? `${name} is active.` : `${name} was triggered.`);
        }
    });
    return form;
}

/* Makes the forms of all faults of this sandbox. */
export function createFaults(fields) {
    const rest = {};

    fieldsOf = fields;
    for (const name of Object.keys(fields)) {
        if (!FAULTS.some(([, faults]) => faults[name])) {
            rest[name] = ["", {}];
        }
    }
    $("fault-list").replaceChildren(...[...FAULTS, ["Others", rest]]
        .map(([group, faults]) => [group, Object.entries(faults)
            .filter(([name]) => fields[name])])
        .filter(([, faults]) => faults.length > 0)
        .map(([group, faults]) => make("div", "group", make("h3", "", group),
            ...faults.map(([name, [text, begin]]) =>
                createFault(name, text, begin, fields[name])))));
}

/* Returns the state of an active fault in words. */
function stateText(parameters) {
    if (parameters.for_ms !== undefined) {
        return `active, ${duration(parameters.for_ms)} left`;
    }
    if (parameters.count !== undefined) {
        return `active, ${counted(parameters.count, "time", "times")} left`;
    }
    return "active until ended";
}

/* Returns the parameters that the state does not show. */
function lastingOf({for_ms: _time, count: _count, ...rest}) {
    return rest;
}

/* Shows the parameters of an active fault, or of the form. */
function showValues(form, parameters) {
    const summary = form.querySelector("summary");

    if (summary) {
        setText(summary, Object.entries(parameters).map(([name, value]) =>
            `${name} ${typeof value === "string" ? value
                : JSON.stringify(value)}`).join(" · ") || "Values");
    }
}

/* Shows which faults are active; active: the parameters of each. */
export function showFaults(active) {
    const names = Object.keys(active);

    for (const form of $("fault-list").querySelectorAll("form")) {
        const name = form.dataset.key;
        const on = active[name] !== undefined;
        const once = !lasts(fieldsOf[name]);
        const button = form.querySelector("button");

        form.classList.toggle("active", on);
        setText(form.querySelector(".state"),
            on ? stateText(active[name]) : once ? "happens once" : "off");
        setText(button, on ? "End" : once ? "Trigger" : "Begin");
        showValues(form, on ? lastingOf(active[name])
            : readForm(form, fieldsOf[name]));
        button.setAttribute("aria-label",
            `${button.textContent} ${name}`);
    }
    setText($("faults-count"), names.length === 0 ? "none active"
        : `${names.length} active`);
    $("end-all").disabled = names.length === 0;
    $("end-all").dataset.active = names.join(" ");
}

$("end-all").addEventListener("click", () => {
    const names = $("end-all").dataset.active.split(" ");

    changeFaults(Object.fromEntries(names.map((name) => [name, null])),
        "All faults have ended.");
});
