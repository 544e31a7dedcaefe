import { useSignal } from "@preact/signals"
import { type Attention, type Care, careSentence, type MergeRequest } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Ask } from "../ui/Ask.js"
import { Await, Field, fieldsOf, Outcome, State, Time } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { plain } from "../words/Words.js"
import { Choice } from "./Choice.js"

interface Cared {
  readonly care: Care | undefined
  readonly attentions: ReadonlyArray<Attention>
}

/** The attentions that are listed, the newest ones. */
const most = 20

const read = async ({ care_state, id: merge_request_id }: MergeRequest, signal: AbortSignal): Promise<Cared> => {
  if (care_state === null) return { care: undefined, attentions: [] }
  const [care, { items: attentions }] = await Promise.all([
    reins.care.get({ merge_request_id }, { signal }),
    reins.care.listAttentions({ merge_request_id, limit: most }, { signal })
  ])
  return { care, attentions }
}

/** The care of a session for a merge request, and the reason for which a person has to go on. */
export const CareView = ({
  moved,
  reload,
  request
}: {
  readonly request: MergeRequest
  /** The number of the newest event about merge requests. */
  readonly moved: number | undefined
  readonly reload: () => void
}) => {
  const { care_state, id, version } = request
  const cared = useLoaded("the care", (signal) => read(request, signal), [id, care_state, version, moved])
  const action = useAction()
  const act = (doing: string, work: () => Promise<unknown>) =>
    void action.run(doing, async () => {
      await work()
      reload()
      cared.reload()
    })
  return (
    <section aria-label="Care">
      <h2>Care {care_state !== null && <State of={tones[care_state]} as={plain(care_state)} />}</h2>
      <Await of={cared}>
        {({ attentions, care }) => (
          <>
            <p>{care === undefined ? "Nobody cares for it." : careSentence(care, currentOf(care, attentions))}</p>
            <Attentions items={attentions} request={request} act={act} />
            {mayWrite.value && request.state === "open" && <Controls care={care} request={request} act={act} />}
          </>
        )}
      </Await>
      <Outcome of={action} />
    </section>
  )
}

/** The attention that a care works on, or else the newest. */
const currentOf = ({ attention_id }: Care, attentions: ReadonlyArray<Attention>): Attention | undefined =>
  attentions.find(({ id }) => id === attention_id) ?? attentions[0]

const tones = {
  watching: "calm",
  working: "running",
  handed_over: "requires_action",
  ended: "calm"
} as const satisfies Record<Care["state"], string>

interface ActProps {
  readonly request: MergeRequest
  readonly act: (doing: string, work: () => Promise<unknown>) => void
}

const Attentions = ({ act, items, request }: ActProps & { readonly items: ReadonlyArray<Attention> }) => {
  const asked = useSignal<Attention | undefined>(undefined)
  const session = `sessions/${request.session_id}`
  const attention_id = asked.value?.id
  return items.length === 0 ? null : (
    <ul class="rows">
      {items.map((each) => (
        <li key={each.id} class="row-line">
          <State of={attentionTones[each.state]} as={plain(each.state)} />
          <span>
            {each.causes.map(({ kind }) => causeWords[kind]).join(" and ")} {isOfTurn(each) ? "after" : "of"}{" "}
            <code title={each.head_sha}>{each.head_sha.slice(0, 10)}</code>
            {each.commit !== null && (
              <>
                , {isOfTurn(each) ? "delivered" : "mended"} in{" "}
                <code title={each.commit}>{each.commit.slice(0, 10)}</code>
              </>
            )}
            {each.turn_id !== null && (
              <>
                {" · "}
                <a href={`${session}#${each.message_id ?? each.turn_id}`}>Turn</a>
              </>
            )}
            {each.changeset_id !== null && (
              <>
                {" · "}
                <a href={`${session}/review/${each.changeset_id}`}>Review</a>
              </>
            )}
          </span>
          {each.state === "proposed" && mayWrite.value && request.state === "open" && (
            <button type="button" class="primary small" onClick={() => (asked.value = each)}>
              Deliver the proposal …
            </button>
          )}
          <span class="fine">
            <Time at={each.updated_at} />
          </span>
        </li>
      ))}
      {attention_id !== undefined && (
        <Ask
          title={`Push to ${request.head_branch}?`}
          verb="Deliver the proposal"
          close={() => (asked.value = undefined)}
          act={() => act("the delivery", () => reins.care.deliverAttention({ attention_id }))}
        >
          <p>The change goes on top of the branch of the merge request, where others see it.</p>
        </Ask>
      )}
    </ul>
  )
}

const causeWords = {
  checks: "failed checks",
  comments: "comments",
  conflict: "a conflict",
  turn: "changes of the session"
} as const

/** True for the work of a turn that care did not begin. */
const isOfTurn = ({ causes }: Attention): boolean => causes.some(({ kind }) => kind === "turn")

const attentionTones = {
  preparing: "pending",
  turning: "running",
  delivering: "running",
  proposed: "requires_action",
  done: "passed",
  superseded: "calm",
  failed: "failed"
} as const satisfies Record<Attention["state"], string>

const Controls = ({ act, care, request }: ActProps & { readonly care: Care | undefined }) => {
  const isOpen = useSignal(false)
  const merge_request_id = request.id
  const isOn = care?.state === "watching" || care?.state === "working"
  if (isOpen.value)
    return (
      <StartForm
        care={care}
        start={(input) => {
          isOpen.value = false
          act("the care", () => reins.care.start({ ...input, merge_request_id }))
        }}
        close={() => (isOpen.value = false)}
      />
    )
  return (
    <p class="actions">
      <button type="button" class="small" onClick={() => (isOpen.value = true)}>
        {care === undefined ? "Start care" : isOn ? "Change care" : "Start care again"}
      </button>
      {isOn && (
        <button
          type="button"
          class="small"
          onClick={() => act("the care", () => reins.care.remove({ merge_request_id }))}
        >
          Stop care
        </button>
      )}
    </p>
  )
}

const ways = { off: "Nothing", propose: "Propose a change", fix: "Mend it" } as const
type Way = keyof typeof ways

const delivers = { own_turns: "Only turns of care", every_turn: "Every turn" } as const

const wayOf = (value: string | undefined): Way => (value === "fix" || value === "propose" ? value : "off")

const StartForm = ({
  care,
  close,
  start
}: {
  readonly care: Care | undefined
  readonly start: (input: Partial<Pick<Care, "checks" | "reviews" | "conflicts" | "deliver" | "max_turns">>) => void
  readonly close: () => void
}) => {
  const action = useAction()
  return (
    <Form
      of={action}
      send={(event) => {
        const { checks, conflicts, deliver, max_turns, reviews } = fieldsOf(event)
        // Fields that the form does not show stay as they are.
        const { bots, budget, protected_paths, reply, rerun_first } = care ?? {}
        const kept = care === undefined ? {} : { bots, budget, protected_paths, reply, rerun_first }
        const ways = { checks: wayOf(checks), reviews: wayOf(reviews), conflicts: wayOf(conflicts) }
        const delivered = deliver === "every_turn" ? deliver : "own_turns"
        start({ ...kept, ...ways, deliver: delivered, max_turns: Number(max_turns) })
      }}
    >
      <Choice name="checks" label="Failed checks" value={care?.checks ?? "fix"} words={ways} />
      <Choice name="reviews" label="Comments of reviewers" value={care?.reviews ?? "off"} words={ways} />
      <Choice name="conflicts" label="Conflicts with the base branch" value={care?.conflicts ?? "off"} words={ways} />
      <Choice
        name="deliver"
        label="Deliver"
        value={care?.deliver ?? "own_turns"}
        words={delivers}
        hint="Every turn that changes files becomes a commit on the branch, also your own."
      />
      <Field label="Turns at most" hint="After that a person is asked.">
        <input name="max_turns" type="number" min={1} max={20} required defaultValue={String(care?.max_turns ?? 5)} />
      </Field>
      <p class="end">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Start
        </button>
      </p>
    </Form>
  )
}
