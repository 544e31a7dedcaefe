import { useSignal } from "@preact/signals"
import { type ComponentChildren, cloneElement, type TargetedSubmitEvent, type VNode } from "preact"
import { useEffect, useId } from "preact/hooks"
import type { Failure } from "../api/Failure.js"
import type { Action, Loaded } from "../api/Loading.js"
import { useTitle } from "../told/Title.js"
import { ago, plain } from "../words/Words.js"
import { useFault, useOtherFaults } from "./Form.js"
import { now } from "./Now.js"

/** An error in a sentence, with the button that mends it. What finds it in the log of the server is behind “Details”. */
export const ErrorBar = ({
  again,
  failure
}: {
  readonly failure: Failure | undefined
  readonly again?: (() => void) | undefined
}) => {
  const isOther = useOtherFaults()
  if (failure === undefined) return null
  const { code, fields = [], mend, message, requestId, retryAfterSeconds, text } = failure
  const isAtFields = fields.length > 0 && !fields.some(isOther)
  return (
    <div class="error" role="alert">
      <p>
        {isAtFields ? "Check the marked field." : text}
        {retryAfterSeconds !== null && ` You can try again in ${retryAfterSeconds} s.`}
      </p>
      {(mend !== undefined || again !== undefined) && (
        <p class="actions">
          {mend !== undefined && (
            <a class="button small" href={mend.href}>
              {mend.label}
            </a>
          )}
          {again !== undefined && (
            <button type="button" class="small" onClick={again}>
              Try again
            </button>
          )}
        </p>
      )}
      <details class="fine">
        <summary>Details</summary>
        {message !== text && <p>{message}</p>}
        {code !== null && <code>{code}</code>}
        {requestId !== null && (
          <>
            {" "}
            request <code>{requestId}</code>
          </>
        )}
      </details>
    </div>
  )
}

/** Says after a second what is being waited for, and for how long. */
export const Waiting = ({ what }: { readonly what: string }) => {
  const seconds = useSignal(0)
  useEffect(() => {
    const begun = Date.now()
    const timer = setInterval(() => {
      seconds.value = Math.floor((Date.now() - begun) / 1000)
    }, 250)
    return () => clearInterval(timer)
  }, [seconds])
  return (
    <p class="waiting" role="status">
      {seconds.value >= 1 && (
        <>
          <span class="spinner" aria-hidden="true" /> Waiting for {what} <span class="fine">{seconds.value} s</span>
        </>
      )}
    </p>
  )
}

/** Shows what was read, or why it could not be, or what is being waited for. */
export const Await = <A,>({
  children,
  of
}: {
  readonly of: Loaded<A>
  readonly children: (value: A) => ComponentChildren
}) => {
  const value = of.value.value
  return (
    <>
      <ErrorBar failure={of.failure.value} again={of.reload} />
      {value !== undefined ? children(value) : of.failure.value === undefined ? <Waiting what={of.what} /> : null}
    </>
  )
}

/** The progress of an action, or the reason of its failure. */
export const Outcome = ({ of }: { readonly of: Action }) => (
  <>
    {of.busy.value !== undefined && <Waiting key={of.busy.value} what={of.busy.value} />}
    <ErrorBar failure={of.failure.value} />
  </>
)

/** A moment, as seen from now; the exact time as its title. */
export const Time = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={new Date(at).toLocaleString()}>
    {ago(at, now.value)}
  </time>
)

const tones: Readonly<Record<string, string>> = {
  succeeded: "good",
  ready: "good",
  active: "good",
  open: "good",
  merged: "good",
  done: "good",
  passed: "good",
  applied: "good",
  delivered: "good",
  supported: "good",
  running: "busy",
  preparing: "busy",
  queued: "busy",
  pending: "busy",
  executing: "busy",
  capturing: "busy",
  verifying: "busy",
  retry_wait: "busy",
  requires_action: "ask",
  needs_you: "ask",
  attention: "ask",
  interrupted: "ask",
  blocked: "ask",
  conflicted: "ask",
  degraded: "ask",
  reauth_required: "ask",
  inconclusive: "ask",
  failed: "bad",
  revoked: "bad",
  lost: "bad",
  disabled: "bad",
  aborted: "bad"
}

/** A state in the word of the API. The word says it, the colour only helps. */
export const State = ({ of, as = plain(of) }: { readonly of: string; readonly as?: string }) => (
  <span class={`state ${tones[of] ?? "calm"}`}>{as}</span>
)

/** A labelled control, with a hint below it. The control takes an `id` and an `aria-describedby`. */
export const Field = ({
  children,
  hint,
  label
}: {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly children: VNode<{
    id?: string
    name?: string | undefined
    "aria-describedby"?: string
    "aria-invalid"?: boolean
  }>
}) => {
  const id = useId()
  const fault = useFault(children.props.name)
  const notes = [fault === undefined ? "" : `${id}.fault`, hint === undefined ? "" : `${id}.hint`].filter(Boolean)
  const described = {
    ...(notes.length > 0 && { "aria-describedby": notes.join(" ") }),
    ...(fault !== undefined && { "aria-invalid": true })
  }
  return (
    <div class={fault === undefined ? "field" : "field wrong"}>
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, ...described })}
      {fault !== undefined && (
        <small class="fault" id={`${id}.fault`}>
          {fault}
        </small>
      )}
      {hint !== undefined && <small id={`${id}.hint`}>{hint}</small>}
    </div>
  )
}

/** The head of a page, and the title of the window with it. */
export const PageHead = ({
  children,
  title,
  under
}: {
  readonly title: string
  readonly under?: ComponentChildren
  readonly children?: ComponentChildren
}) => {
  useTitle(title)
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {under !== undefined && <p class="under">{under}</p>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  )
}

/** A browser has no clipboard of its own for a page that came over plain HTTP from another machine. */
const toClipboard = async (text: string): Promise<void> => {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement("textarea")
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand("copy")
  area.remove()
}

/** Copies a text, and says so. */
export const Copy = ({ label = "Copy", text }: { readonly text: string; readonly label?: string }) => {
  const copied = useSignal(false)
  const copy = async () => {
    await toClipboard(text)
    copied.value = true
    setTimeout(() => {
      copied.value = false
    }, 1500)
  }
  return (
    <button type="button" class="small" onClick={copy}>
      {copied.value ? "Copied" : label}
    </button>
  )
}

/** The text of a list that is empty, with the next step of its reader. */
export const Nothing = ({ children }: { readonly children: ComponentChildren }) => <div class="nothing">{children}</div>

/** The texts of the named fields of a form. */
export const fieldsOf = (event: TargetedSubmitEvent<HTMLFormElement>): Readonly<Record<string, string>> => {
  event.preventDefault()
  const entries = [...new FormData(event.currentTarget)]
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === "string" ? value : ""]))
}
