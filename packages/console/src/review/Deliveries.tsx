import { type Signal, useSignal } from "@preact/signals"
import type { Changeset, Delivery, DeliveryStep } from "@reins/client"
import { useEffect } from "preact/hooks"
import { useAction, useLoaded } from "../api/Loading.js"
import { reasonInFull } from "../api/Reasons.js"
import { reins, wholeOf } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Ask } from "../ui/Ask.js"
import { Copy, ErrorBar, Outcome, State, Time } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"
import { MergeRequestForm, MergeRequestLine } from "./MergeRequests.js"
import type { Review } from "./Review.js"

/** The deliveries of a changeset with their steps, as they come. */
export const Deliveries = ({
  changed,
  changeset,
  proposed,
  review,
  words
}: {
  readonly changeset: Changeset
  /** The delivery whose merge request was asked for together with it. */
  readonly proposed: Signal<string | undefined>
  /** The last words of the agent, with which the text of a merge request begins. */
  readonly words: string
  readonly review: Review
  readonly changed: number | undefined
}) => {
  const changeset_id = changeset.id
  const list = useLoaded(
    "the deliveries",
    (signal) => wholeOf(reins.changesets.listDeliveries({ changeset_id, limit: 20 }, { signal })),
    [changeset_id, changed]
  )
  const items = list.value.value?.items ?? []
  return (
    <>
      <ErrorBar failure={list.failure.value} again={list.reload} />
      {items.map((delivery) => (
        <DeliveryCard
          key={delivery.id}
          delivery={delivery}
          files={changeset.file_count}
          review={review}
          words={words}
          proposed={proposed}
          changed={changed}
          reload={list.reload}
        />
      ))}
    </>
  )
}

type Obstacle = Delivery["allow"][number]

/** What a person says yes to who delivers in spite of an obstacle. */
const questions: Readonly<Record<Obstacle, string>> = {
  hidden_content:
    "The branch then has these files as they were before, though the agent may have committed another version of them.",
  unencrypted_content:
    "The branch then has plain content of files that the repository keeps encrypted. Everybody who can read the branch can read them, and a push cannot be taken back.",
  unfiltered_content:
    "The branch then has files as the agent wrote them. A filter of the repository should have converted them.",
  lfs_content:
    "The branch then has the content of files for which Git LFS expects pointers, and the repository grows by it.",
  name_collision: "A checkout on macOS or Windows then has one file only for each two of these names."
}

const obstacleOf = ({ reason }: Delivery): Obstacle | undefined =>
  reason !== null && isObstacle(reason) ? reason : undefined

const isObstacle = (reason: string): reason is Obstacle => Object.hasOwn(questions, reason)

/** The steps of a delivery, with their words for people. */
const steps = [
  ["materialize", "commit"],
  ["push", "push"],
  ["observe", "check"]
] as const

const DeliveryCard = ({
  changed,
  delivery,
  files,
  proposed,
  reload,
  review,
  words
}: {
  readonly delivery: Delivery
  readonly proposed: Signal<string | undefined>
  readonly words: string
  readonly files: number
  readonly review: Review
  readonly changed: number | undefined
  readonly reload: () => void
}) => {
  const { actions, commit, id, patch, reason_message, state, target_ref, transport } = delivery
  const delivery_id = id
  const action = useAction()
  const isOpening = useSignal(false)
  const isAsking = useSignal(false)
  const obstacle = state === "blocked" ? obstacleOf(delivery) : undefined
  const requests = useLoaded(
    "the merge requests",
    (signal) => reins.deliveries.listMergeRequests({ delivery_id, limit: 5 }, { signal }),
    [id, state, changed]
  )
  const isOpened = (requests.value.value?.items ?? []).some(({ state }) => /^(?:open|pending|merged)$/.test(state))
  const act = (doing: string, work: () => Promise<unknown>) =>
    action.run(doing, async () => {
      await work()
      reload()
    })
  const isProposed = proposed.value === id && actions.includes("open_merge_request")
  useEffect(() => {
    if (!isProposed) return
    proposed.value = undefined
    void action.run("the merge request", async () => {
      await reins.deliveries.openMergeRequest({
        delivery_id,
        draft: false,
        ...(words !== "" && { description: words })
      })
      requests.reload()
    })
  }, [isProposed])
  return (
    <section class="delivery" aria-label={`Delivery as ${transport === "patch" ? "a patch" : target_ref}`}>
      <div class="section-head">
        <p>
          <State of={state} as={`delivery ${state}`} /> {transport === "patch" ? "patch" : <code>{target_ref}</code>}
          {commit !== null && (
            <>
              {" "}
              at <code>{commit.slice(0, 10)}</code>
            </>
          )}{" "}
          <span class="fine">
            <Time at={delivery.created_at} />
          </span>
        </p>
        {mayWrite.value && (
          <span class="actions">
            {actions.includes("open_merge_request") && !isOpened && (
              <button type="button" class="primary small" onClick={() => (isOpening.value = true)}>
                Open a merge request
              </button>
            )}
            {obstacle !== undefined && actions.includes("retry") && (
              <button type="button" class="small" onClick={() => (isAsking.value = true)}>
                Deliver anyway
              </button>
            )}
            {obstacle === undefined && actions.includes("retry") && (
              <button
                type="button"
                class="small"
                onClick={() => act("the retry", () => reins.deliveries.retry({ delivery_id }))}
              >
                Retry
              </button>
            )}
            {obstacle === undefined && actions.includes("refresh") && (
              <button
                type="button"
                class="small"
                onClick={() => act("the branch", () => reins.deliveries.refresh({ delivery_id }))}
              >
                Check the branch
              </button>
            )}
            {actions.includes("cancel") && (
              <button
                type="button"
                class="small"
                onClick={() => act("the cancellation", () => reins.deliveries.cancel({ delivery_id }))}
              >
                Cancel
              </button>
            )}
          </span>
        )}
      </div>
      <Steps given={delivery.steps} isRunning={state === "pending" || state === "executing"} />
      {reason_message !== null && <p>{reasonInFull(delivery)}</p>}
      {patch !== null && (
        <p class="fine">
          <a
            class="button small"
            download={`${delivery.changeset_id}.patch`}
            href={URL.createObjectURL(new Blob([patch], { type: "text/x-patch" }))}
          >
            Download the patch
          </a>{" "}
          <Copy label="Copy the patch" text={patch} />
        </p>
      )}
      {(requests.value.value?.items ?? []).map((request) => (
        <MergeRequestLine key={request.id} request={request} files={files} review={review} reload={requests.reload} />
      ))}
      <Outcome of={action} />
      {isAsking.value && obstacle !== undefined && (
        <Ask
          title="Deliver anyway?"
          verb="Deliver anyway"
          isDanger={obstacle === "unencrypted_content"}
          close={() => (isAsking.value = false)}
          act={() =>
            act("the delivery", () =>
              reins.changesets.deliver({
                changeset_id: delivery.changeset_id,
                transport,
                target_ref,
                allow: [...delivery.allow, obstacle]
              })
            )
          }
        >
          <p>{questions[obstacle]}</p>
          <p class="fine">{reasonInFull(delivery)}</p>
        </Ask>
      )}
      {isOpening.value && (
        <Dialog title="Open a merge request" close={() => (isOpening.value = false)}>
          <MergeRequestForm
            delivery={delivery}
            words={words}
            done={() => {
              isOpening.value = false
              requests.reload()
            }}
          />
        </Dialog>
      )}
    </section>
  )
}

const Steps = ({ given, isRunning }: { readonly given: ReadonlyArray<DeliveryStep>; readonly isRunning: boolean }) => {
  if (given.length === 0 && !isRunning) return null
  return (
    <ol class="steps">
      {steps.map(([kind, name]) => {
        const last = given.findLast((step) => step.kind === kind)
        const words = last === undefined ? (isRunning ? "waiting" : "not done") : last.outcome
        return (
          <li key={kind} class={last?.outcome ?? "open"}>
            <span aria-hidden="true">{last === undefined ? "·" : last.outcome === "succeeded" ? "✓" : "✗"}</span> {name}
            <span class="fine"> {words}</span>
          </li>
        )
      })}
    </ol>
  )
}
