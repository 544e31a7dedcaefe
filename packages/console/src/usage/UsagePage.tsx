import { useSignal } from "@preact/signals"
import type { UsageGroup } from "@reins/client"
import type { ComponentChildren } from "preact"
import { useLoaded, usePages } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { isOwner, standings } from "../inbox/Workspace.js"
import { Await, Field, Nothing, PageHead } from "../ui/Basics.js"
import { More } from "../ui/More.js"
import { BudgetCard } from "./BudgetCard.js"
import { BudgetCourse } from "./BudgetCourse.js"
import { DayChart } from "./DayChart.js"
import { Gaps, modelRows, UsageTable } from "./UsageTable.js"

const groupings = [
  { by: "model", name: "Model" },
  { by: "day", name: "Day" },
  { by: "session", name: "Session" },
  { by: "api_key", name: "API key" }
] as const
type Grouping = (typeof groupings)[number]

/** The usage and the budget of the workspace. */
export const UsagePage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const workspace = useLoaded(
    "the workspace",
    (signal) => reins.workspaces.get({ workspace_id: workspaceId }, { signal }),
    [workspaceId]
  )
  const from = useSignal("")
  const to = useSignal("")
  const by = useSignal<Grouping>(groupings[0])
  return (
    <>
      <PageHead title="Usage and budgets" under="What model calls have used, over turns that have ended." />
      <Await of={workspace}>
        {({ budget, id }) => (
          <BudgetCard
            id={id}
            budget={budget}
            mayChange={isOwner.value}
            changed={workspace.reload}
            none="This workspace may spend without a limit. Sessions, turns and API keys can have budgets of their own."
          >
            {budget !== null && <BudgetCourse key={budget.since} budget={budget} workspaceId={id} />}
          </BudgetCard>
        )}
      </Await>
      <h2>Usage</h2>
      <div class="filters">
        <Field label="By">
          <select
            value={by.value.by}
            onChange={({ currentTarget }) =>
              (by.value = groupings.find((each) => each.by === currentTarget.value) ?? groupings[0])
            }
          >
            {groupings.map((each) => (
              <option key={each.by} value={each.by}>
                {each.name.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase())}
              </option>
            ))}
          </select>
        </Field>
        <Field label="From">
          <input type="date" value={from.value} onChange={({ currentTarget }) => (from.value = currentTarget.value)} />
        </Field>
        <Field label="To">
          <input type="date" value={to.value} onChange={({ currentTarget }) => (to.value = currentTarget.value)} />
        </Field>
      </div>
      <DayChart workspaceId={workspaceId} from={from.value} to={to.value} />
      <Groups key={by.value.by} grouping={by.value} workspaceId={workspaceId} from={from.value} to={to.value} />
    </>
  )
}

const Groups = ({
  from,
  grouping: { by, name },
  to,
  workspaceId
}: {
  readonly grouping: Grouping
  readonly workspaceId: string
  readonly from: string
  readonly to: string
}) => {
  const days = { ...(from !== "" && { from }), ...(to !== "" && { to }) }
  const usage = useLoaded(
    "the usage",
    (signal) => reins.workspaces.getUsage({ workspace_id: workspaceId, limit: 1, ...days }, { signal }),
    [workspaceId, from, to]
  )
  const groups = usePages(
    "the usage",
    async (cursor, signal) => {
      if (by === "model") return { items: [], next_cursor: null }
      const page = { limit: 50, ...(cursor !== undefined && { cursor }) }
      const answer = await reins.workspaces.getUsage(
        { workspace_id: workspaceId, group_by: by, ...page, ...days },
        { signal }
      )
      return { items: answer.groups, next_cursor: answer.next_cursor }
    },
    [workspaceId, from, to, by]
  )
  const keys = useLoaded(
    "the API keys",
    async (signal) =>
      by === "api_key"
        ? new Map(
            (await wholeOf(reins.apiKeys.list({ limit: 100 }, { signal }))).items.map((key) => [
              key.id as string,
              key.name
            ])
          )
        : new Map<string, string>(),
    [by]
  )
  const names = keys.value.value ?? new Map<string, string>()
  return (
    <Await of={usage}>
      {({ by_model, total }) =>
        total.turns === 0 ? (
          <Nothing>No turn has ended {from === "" && to === "" ? "yet" : "in this time"}.</Nothing>
        ) : (
          <Await of={groups}>
            {({ items }) => (
              <>
                <UsageTable
                  by={name}
                  rows={by === "model" ? modelRows(by_model) : items.map((group) => rowOf(group, names))}
                  total={total}
                />
                <More of={groups} />
                <Gaps total={total} />
              </>
            )}
          </Await>
        )
      }
    </Await>
  )
}

const rowOf = (sum: UsageGroup, keys: ReadonlyMap<string, string>) => {
  const { api_key_id, day, session_id } = sum
  const key = day ?? session_id ?? api_key_id ?? "none"
  let name: ComponentChildren = day ?? (api_key_id === null ? "people" : (keys.get(key) ?? key))
  if (session_id !== undefined) {
    const known = standings.value?.find(({ item }) => item.session_id === session_id)
    name = <a href={`sessions/${session_id}/usage`}>{known?.item.title ?? session_id}</a>
  }
  return { key, name, sum }
}
