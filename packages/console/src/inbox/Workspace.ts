import { computed, effect, signal } from "@preact/signals"
import type { Interaction } from "@reins/client"
import { type Failure, failureToldBy } from "../api/Failure.js"
import { me } from "../api/Server.js"
import { watch } from "../live/Live.js"
import { keep, readKept } from "../ui/Kept.js"
import type { Standing } from "./Standing.js"

const name = "reins.workspace"
const chosen = signal(readKept(name))

/** The workspaces of the one who is logged in. */
export const workspaces = computed(() => me.value?.workspaces ?? [])

/** The workspace that the page shows; undefined while nobody is logged in. */
export const workspace = computed(() => workspaces.value.find(({ id }) => id === chosen.value) ?? workspaces.value[0])

/** Shows another workspace. This browser keeps the choice. */
export const choose = (id: string): void => {
  keep(name, id)
  chosen.value = id
}

/** Its id. */
const workspaceId = computed(() => workspace.value?.id)

/** True for somebody who may change things in the workspace. */
export const mayWrite = computed(() => workspace.value !== undefined && workspace.value.role !== "viewer")

/** True for somebody who decides who belongs to the workspace, what it may spend and where its events go. */
export const isOwner = computed(() => workspace.value?.role === "owner")

/** Where the sessions of the workspace stand, those first that have moved last; undefined until they have come. */
export const standings = signal<ReadonlyArray<Standing> | undefined>(undefined)
export const hasMore = signal(false)
export const failure = signal<Failure | undefined>(undefined)

/** The questions of all sessions that wait for an answer, the one that ends first at the top. */
export const questions = computed(
  (): ReadonlyArray<{ readonly standing: Standing; readonly interaction: Interaction }> =>
    (standings.value ?? [])
      .flatMap((standing) => standing.interactions.map((interaction) => ({ standing, interaction })))
      .sort((one, other) => one.interaction.expires_at.localeCompare(other.interaction.expires_at))
)

/** The number of all questions that wait, also of those that are not read yet. */
export const asked = computed((): number =>
  (standings.value ?? []).reduce((sum, { item }) => sum + item.questions.length, 0)
)

let loadMore: () => void = () => undefined
let lookAgain: (sessionId: string) => void = () => undefined

/** Reads a session of the list again, for all pages of this browser. */
export const again = (sessionId: string): void => lookAgain(sessionId)

/** Reads older sessions too. */
export const more = (): void => loadMore()

const byNewest = ({ item: one }: Standing, { item: other }: Standing): number =>
  other.since.localeCompare(one.since) || other.session_id.localeCompare(one.session_id)

/** Follows the workspace that is shown. */
export const startWorkspace = (): void => {
  effect(() => {
    const workspace_id = workspaceId.value
    standings.value = undefined
    failure.value = undefined
    if (workspace_id === undefined) return
    const known = new Map<string, Standing>()
    const {
      again: reread,
      more: older,
      stop
    } = watch({ of: "workspace", workspace_id }, (news) => {
      if (news.kind === "broken") {
        if (news.code === "unauthenticated") me.value = null
        failure.value = failureToldBy(news)
      }
      if (news.kind === "healed") failure.value = undefined
      if (news.kind !== "standings") return
      for (const standing of news.standings) known.set(standing.item.session_id, standing)
      for (const id of news.gone) known.delete(id)
      hasMore.value = news.hasMore
      const isFirst = news.standings.length === 0 && standings.peek() === undefined && known.size === 0 && !news.isWhole
      if (isFirst) return
      standings.value = [...known.values()].sort(byNewest)
    })
    loadMore = older
    lookAgain = reread
    return stop
  })
}
