import { useSignal } from "@preact/signals"
import type { FormField, Interaction } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Outcome } from "../ui/Basics.js"
import { now } from "../ui/Now.js"
import { RaiseBudget } from "../usage/BudgetForm.js"
import { countdown } from "../words/Words.js"
import { FormFields, type Values, valuesOf } from "./FormFields.js"

type Option = Interaction["options"][number]

export const nameOf = (options: Interaction["options"], id: string): string =>
  options.find((each) => each.id === id)?.name ?? id

/** Gives an answer to the agent, about the subject that this page shows. */
export const useAnswer = ({ id, subject }: Interaction) => {
  const action = useAction()
  const give = (option: Option, more: { readonly note?: string; readonly content?: Values } = {}) =>
    action.run("the answer", () =>
      reins.interactions.answer({
        interaction_id: id,
        answer: option.id,
        ...(subject !== null && { seen: subject.digest }),
        ...more
      })
    )
  return { action, give }
}

export type Answer = ReturnType<typeof useAnswer>

/** True for an option that lets the agent do what it asks for. */
export const isLeave = ({ kind }: Option): boolean => kind.startsWith("allow")

interface AnswersProps {
  readonly interaction: Interaction
  readonly answer: Answer
  /** False for an approval that is not shown whole, which takes one more look. */
  readonly isWhole: boolean
}

/** The possible answers to a question, as buttons. */
export const Answers = (props: AnswersProps) => {
  if (!mayWrite.value) return <p class="fine">Only people who may write in this workspace can answer.</p>
  return props.interaction.kind === "budget" ? <BudgetAnswers {...props} /> : <OptionAnswers {...props} />
}

const BudgetAnswers = ({ answer: { action, give }, interaction }: AnswersProps) => {
  const { budget_of, expires_at, options } = interaction
  const left = countdown(expires_at, now.value)
  const ends = options.map((option) => (
    <button key={option.id} type="button" disabled={action.busy.value !== undefined} onClick={() => give(option)}>
      {option.name}
    </button>
  ))
  return (
    <>
      {budget_of === null ? <p class="answers">{ends}</p> : <RaiseBudget id={budget_of}>{ends}</RaiseBudget>}
      <p class="fine" role="timer">
        {left === "" ? "Nobody raised it in time." : `The turn ends in ${left}`}
      </p>
      <Outcome of={action} />
    </>
  )
}

const OptionAnswers = ({ answer: { action, give }, interaction, isWhole }: AnswersProps) => {
  const { form, id, kind, options } = interaction
  const note = useSignal("")
  const isNoted = useSignal(false)
  const values = useSignal<Values>(initialOf(form))
  const answer = (option: Option) =>
    give(option, {
      ...(note.value !== "" && { note: note.value }),
      ...(form !== null && option.kind === "accept" && { content: valuesOf(form, values.value) })
    })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const accept = options.find(({ kind }) => kind === "accept")
        if (accept !== undefined) void answer(accept)
      }}
    >
      {form !== null && <FormFields form={form} values={values} id={id} />}
      {isNoted.value && (
        <textarea
          aria-label="Note to the agent"
          placeholder="Tell the agent why, or how to do it instead"
          rows={2}
          maxLength={10_000}
          value={note.value}
          onInput={({ currentTarget }) => (note.value = currentTarget.value)}
        />
      )}
      <Options
        interaction={interaction}
        isBusy={action.busy.value !== undefined}
        isGuarded={kind === "approval" && !isWhole}
        answer={answer}
      >
        {!isNoted.value && (
          <button type="button" class="link" onClick={() => (isNoted.value = true)}>
            Add a note
          </button>
        )}
      </Options>
      <p class="fine" role="timer">
        {waitOf(interaction)}
      </p>
      <Outcome of={action} />
    </form>
  )
}

interface OptionsProps {
  readonly interaction: Interaction
  readonly isBusy: boolean
  /** True where a click alone must not allow anything. */
  readonly isGuarded: boolean
  readonly answer: (option: Option) => unknown
  readonly children: preact.ComponentChildren
}

/** A button for each option. Those that allow what is not shown whole come after a button that says so. */
const Options = ({ answer, children, interaction, isBusy, isGuarded }: OptionsProps) => {
  const { default: fallback, form, kind, options, subject } = interaction
  /** The digest of the subject for which a person wants to see the options that allow it. */
  const insisted = useSignal<string | undefined>(undefined)
  const digest = subject?.digest ?? ""
  const isHidden = isGuarded && insisted.value !== digest && options.some(isLeave)
  const strong = kind === "approval" && !isGuarded ? options.find(isLeave) : undefined
  return (
    <>
      <div class="answers">
        {options
          .filter((option) => !isHidden || !isLeave(option))
          .map((option) => (
            <button
              key={option.id}
              type={form !== null && option.kind === "accept" ? "submit" : "button"}
              class={option === strong || option.kind === "accept" ? "primary" : ""}
              disabled={isBusy}
              onClick={form !== null && option.kind === "accept" ? undefined : () => void answer(option)}
            >
              {option.name}
              {option.id === fallback && <small> (default)</small>}
            </button>
          ))}
        {isHidden && (
          <button type="button" disabled={isBusy} onClick={() => (insisted.value = digest)}>
            Allow it without seeing all …
          </button>
        )}
        {children}
      </div>
      {isGuarded && !isHidden && options.some(isLeave) && (
        <p class="fine">You would allow something that is not shown whole here.</p>
      )}
    </>
  )
}

/** Says when the question ends without an answer, and how. */
const waitOf = ({ default: fallback, expires_at, options }: Interaction): string => {
  const left = countdown(expires_at, now.value)
  if (left === "") return "The time to answer is over."
  return fallback === null
    ? `Unanswered in ${left}: the agent goes on without an answer`
    : `${answeredBy(nameOf(options, fallback))} automatically in ${left}`
}

/** The answer as a thing that happened. */
const answeredBy = (name: string): string =>
  /^reject/i.test(name) ? "Rejected" : /^(?:deny|decline)/i.test(name) ? "Declined" : `“${name}” is chosen`

const initialOf = (form: ReadonlyArray<FormField> | null): Values =>
  Object.fromEntries((form ?? []).flatMap(({ default: value, name }) => (value === null ? [] : [[name, value]])))
