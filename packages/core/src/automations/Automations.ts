import { fn } from "@reins/base/base/Traced"
import { requireAll } from "@reins/base/domain/Condition"
import { AutomationId, newId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page } from "@reins/base/domain/Page"
import { keyOf, type Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type Unseen } from "../access/Access.js"
import { JobStore } from "../jobs/JobStore.js"
import { forgetWordsOf } from "../jobs/WordsForgetting.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { expectVersion } from "../store/Version.js"
import { type Automation, type AutomationTarget, type AutomationTrigger, defaultOptions } from "./Automation.js"
import {
  type AutomationFilter,
  type AutomationRow,
  AutomationStore,
  notDue,
  optionsOf,
  triggerOf
} from "./AutomationStore.js"
import type { AutomationInput, AutomationPatch, AutomationPreview, PauseInput, PreviewQuery } from "./AutomationsApi.js"
import { automationAccess, automationRules, makeShow } from "./AutomationViews.js"
import { makeFollow, makePrepareTrigger, type Prepared } from "./Following.js"
import { makeCancelWaiting, makePause } from "./Pausing.js"
import { loadSchedules, makePlan } from "./Plan.js"
import { makeRehearse, type RunRefusal } from "./Rehearsal.js"
import { RunStore } from "./RunStore.js"
import { checkCloses, makeCheckTarget, makeHookOf, nextOf, tryOf } from "./TriggerChecks.js"

/** The automations that a workspace can have. */
export const maxAutomations = 50

/**
 * Automations: work that begins by itself. Everybody in a workspace sees them. A member changes those that act for it, and an owner all. Whoever makes,
 * changes or resumes one is the account that it acts for from then on.
 */
export class Automations extends Context.Tag("@reins/core/automations/Automations")<
  Automations,
  {
    /** The automations of a workspace, newest first. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      filter: AutomationFilter
    ) => Effect.Effect<Page<Automation>, Unseen | ReinsError<"invalid_cursor">>
    readonly get: (principal: Principal, id: string) => Effect.Effect<Automation, Unseen>
    /** The next times of a schedule. Fails with `RequestInvalid` for one that has none. */
    readonly preview: (
      principal: Principal,
      workspaceId: string,
      query: PreviewQuery
    ) => Effect.Effect<AutomationPreview, Unseen | RequestInvalid>
    /**
     * Fails with `quota_exhausted` when the workspace has its share. `RequestInvalid` is for a session of another workspace, a trigger that never comes,
     * and a repository that this installation never contacts. It fails as a run would that could not begin. An automation of a hook, of events or of one
     * time may be made before its model and connection are chosen.
     */
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: AutomationInput
    ) => Command<Automation, Denied | RunRefusal | ReinsError<"quota_exhausted"> | RequestInvalid>
    /** Changes what is given and leaves the rest. Fails as `create` does, and with `version_conflict`. */
    readonly update: (
      principal: Principal,
      id: string,
      patch: AutomationPatch
    ) => Command<Automation, Denied | RunRefusal | ReinsError<"version_conflict"> | RequestInvalid>
    /** Runs that go on are not cancelled. */
    readonly remove: (principal: Principal, id: string) => Command<Automation, Denied>
    /** Fails with `invalid_transition` for one that is not active. */
    readonly pause: (
      principal: Principal,
      id: string,
      input: PauseInput
    ) => Command<Automation, Denied | ReinsError<"invalid_transition">>
    /** Fails with `invalid_transition` for one that is not paused. What was due meanwhile is not made up for. */
    readonly resume: (principal: Principal, id: string) => Command<Automation, Denied | RunRefusal | RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    Automations,
    Effect.gen(function* () {
      const access = yield* Access
      const store = yield* AutomationStore
      const show = yield* makeShow
      const { readable } = yield* automationAccess
      const create = yield* makeCreate
      const update = yield* makeUpdate
      const turns = yield* makeTurns

      return Automations.of({
        list: fn("Automations.list")(function* (principal, workspaceId, filter) {
          const role = yield* access.read(principal, workspaceId)
          const { items, next_cursor } = yield* store.list(workspaceId, filter)
          return { items: yield* Effect.forEach(items, (row) => show(principal, role, row)), next_cursor }
        }),
        get: fn("Automations.get")(function* (principal, id) {
          const { role, row } = yield* readable(principal, id)
          return yield* show(principal, role, row)
        }),
        preview: fn("Automations.preview")(function* (principal, workspaceId, query) {
          yield* access.read(principal, workspaceId)
          const schedules = yield* loadSchedules
          const { count = 10, expression, timezone } = query
          const from = query.from ?? (yield* now)
          const trigger = { kind: "schedule" as const, expression, timezone }
          const times = yield* tryOf(schedules, () => schedules.preview(trigger, from, count), ["query"], query)
          return { times }
        }),
        create,
        update,
        ...turns
      })
    })
  )
}

const projectOf = (target: AutomationTarget) => (target.kind === "new_session" ? (target.project_id ?? null) : null)

const followsOf = (trigger: AutomationTrigger): number => (trigger.kind === "event" ? 1 : 0)

const actsFor = (principal: Principal) => ({ acts_for: principal.accountId, api_key_id: keyOf(principal) })

/** Gives `Automations.create`. */
const makeCreate = Effect.gen(function* () {
  const access = yield* Access
  const journal = yield* Journal
  const store = yield* AutomationStore
  const plan = yield* makePlan
  const show = yield* makeShow
  const checkTarget = yield* makeCheckTarget
  const hookOf = yield* makeHookOf
  const follow = yield* makeFollow
  const prepare = yield* makePrepareTrigger
  const rehearse = yield* makeRehearse

  const inside = Effect.fnUntraced(function* (
    prepared: Prepared,
    principal: Principal,
    workspaceId: string,
    input: AutomationInput
  ) {
    const { name, target, trigger, ...options } = input
    const role = yield* access.write(principal, workspaceId)
    yield* checkTarget(principal, workspaceId, target)
    yield* checkCloses(trigger, options.deliver ?? null)
    const hook_id = yield* hookOf(workspaceId, trigger)
    const used = yield* store.count(workspaceId)
    if (used >= maxAutomations) return yield* tooMany(used)
    const at = yield* now
    const id = yield* newId(AutomationId)
    const named = { id, workspace_id: WorkspaceId.make(workspaceId), generation: 1 }
    const row: AutomationRow = {
      ...named,
      name,
      project_id: projectOf(target),
      hook_id,
      follows: followsOf(trigger),
      state: "active",
      pause_reason: null,
      pause_message: null,
      due: JSON.stringify(trigger),
      target: JSON.stringify(target),
      options: JSON.stringify({ ...defaultOptions, ...options }),
      ...actsFor(principal),
      ...(yield* plan(named, yield* nextOf(prepared.schedules, id, trigger, at))),
      failures: 0,
      spent_tokens: 0,
      spent_nano_usd: null,
      version: 1,
      created_at: at,
      updated_at: at,
      deleted_at: null
    }
    yield* store.insert(row)
    yield* follow(row, prepared)
    return yield* show(principal, role, row)
  })

  const create: Automations["Type"]["create"] = (principal, workspaceId, input) =>
    journal.prepared(
      "Automations.create",
      { by: principal, about: { type: "workspace", id: workspaceId } },
      Effect.gen(function* () {
        const making = inside(yield* prepare(workspaceId, input.trigger), principal, workspaceId, input)
        yield* rehearse(principal, making)
        return making
      })
    )
  return create
})

const about = (principal: Principal, id: string) => ({ by: principal, about: { type: "automation", id } })

/** Gives the function of the columns of an automation whose trigger begins anew. */
const makeAnew = Effect.gen(function* () {
  const jobs = yield* JobStore
  const plan = yield* makePlan
  const follow = yield* makeFollow
  return Effect.fnUntraced(function* (
    prepared: Prepared,
    row: AutomationRow,
    trigger: AutomationTrigger,
    isDue: boolean
  ) {
    const planned = yield* nextOf(prepared.schedules, row.id, trigger, yield* now)
    if (row.fire_job_id !== null) yield* jobs.cancel(row.fire_job_id)
    const generation = row.generation + 1
    if (isDue) yield* follow({ id: row.id, generation }, prepared)
    return { generation, failures: 0, ...(isDue ? yield* plan({ ...row, generation }, planned) : notDue) }
  })
})

/** Gives `Automations.update`. */
const makeUpdate = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* AutomationStore
  const show = yield* makeShow
  const anew = yield* makeAnew
  const checkTarget = yield* makeCheckTarget
  const hookOf = yield* makeHookOf
  const prepare = yield* makePrepareTrigger
  const rehearse = yield* makeRehearse
  const { writable } = yield* automationAccess

  const inside = Effect.fnUntraced(function* (
    prepared: Prepared,
    principal: Principal,
    id: string,
    { expected_version, name, target, trigger, ...options }: AutomationPatch
  ) {
    const { role, row } = yield* writable(principal, id)
    yield* expectVersion(row.version, expected_version)
    if (target !== undefined) yield* checkTarget(principal, row.workspace_id, target)
    yield* checkCloses(
      trigger ?? triggerOf(row),
      options.deliver === undefined ? optionsOf(row).deliver : options.deliver
    )
    const state = trigger !== undefined && row.state === "done" ? "active" : row.state
    const changed = yield* store.update(row.id, {
      ...(name !== undefined && { name }),
      ...(target !== undefined && { target: JSON.stringify(target), project_id: projectOf(target) }),
      ...(trigger !== undefined && {
        due: JSON.stringify(trigger),
        hook_id: yield* hookOf(row.workspace_id, trigger),
        follows: followsOf(trigger),
        state,
        ...(yield* anew(prepared, row, trigger, state === "active"))
      }),
      options: JSON.stringify({ ...defaultOptions, ...JSON.parse(row.options), ...options }),
      ...actsFor(principal),
      version: row.version + 1,
      updated_at: yield* now
    })
    return yield* show(principal, role, changed)
  })

  const update: Automations["Type"]["update"] = (principal, id, patch) =>
    journal.prepared(
      "Automations.update",
      about(principal, id),
      Effect.gen(function* () {
        const row = yield* store.find(id)
        const changing = inside(yield* prepare(row?.workspace_id, patch.trigger), principal, id, patch)
        const isOther = patch.target !== undefined || patch.trigger !== undefined || patch.deliver !== undefined
        if (isOther) yield* rehearse(principal, changing)
        return changing
      })
    )
  return update
})

/** Gives the commands that stop an automation, and have it go on. */
const makeTurns = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* AutomationStore
  const jobs = yield* JobStore
  const runs = yield* RunStore
  const show = yield* makeShow
  const pause = yield* makePause
  const anew = yield* makeAnew
  const cancelWaiting = yield* makeCancelWaiting
  const hookOf = yield* makeHookOf
  const prepare = yield* makePrepareTrigger
  const rehearse = yield* makeRehearse
  const { writable } = yield* automationAccess

  const resume = Effect.fnUntraced(function* (prepared: Prepared, principal: Principal, id: string) {
    const { role, row } = yield* writable(principal, id)
    yield* requireAll(automationRules.resume, row)
    yield* hookOf(row.workspace_id, triggerOf(row))
    const resumed = yield* store.update(row.id, {
      state: "active",
      pause_reason: null,
      pause_message: null,
      ...(yield* anew(prepared, row, triggerOf(row), true)),
      ...actsFor(principal),
      version: row.version + 1,
      updated_at: yield* now
    })
    return yield* show(principal, role, resumed)
  })

  return {
    remove: (principal, id) =>
      journal.command(
        "Automations.remove",
        about(principal, id),
        Effect.gen(function* () {
          const { role, row } = yield* writable(principal, id)
          if (row.fire_job_id !== null) yield* jobs.cancel(row.fire_job_id)
          yield* cancelWaiting(row, "deleted", "The automation was deleted before it began.")
          const shown = yield* show(principal, role, { ...row, ...notDue })
          yield* store.update(row.id, { ...notDue, ...wordless, deleted_at: yield* now })
          yield* runs.forgetCalls(row.id)
          yield* jobs.enqueue(forgetWordsOf("automation", row.id, row.workspace_id))
          return { ...shown, actions: [] }
        })
      ),
    pause: (principal, id, { reason = null }) =>
      journal.command(
        "Automations.pause",
        about(principal, id),
        Effect.gen(function* () {
          const { role, row } = yield* writable(principal, id)
          yield* requireAll(automationRules.pause, row)
          return yield* show(principal, role, yield* pause(row, { reason: "by_hand", message: reason }))
        })
      ),
    resume: (principal, id) =>
      journal.prepared(
        "Automations.resume",
        about(principal, id),
        Effect.gen(function* () {
          const row = yield* store.find(id)
          const resuming = resume(yield* prepare(row?.workspace_id, row && triggerOf(row)), principal, id)
          yield* rehearse(principal, resuming)
          return resuming
        })
      )
  } satisfies Partial<Automations["Type"]>
})

/** The columns of an automation of which only its runs are left. */
const wordless = {
  name: "",
  project_id: null,
  hook_id: null,
  follows: 0,
  pause_message: null,
  due: JSON.stringify({ kind: "event", types: ["*"] }),
  target: JSON.stringify({ kind: "new_session", message: "" }),
  options: "{}"
}

const tooMany = (used: number) =>
  new ReinsError({
    code: "quota_exhausted",
    message: `This workspace has ${used} automations, and ${maxAutomations} are the most. Delete one that is not needed.`,
    details: { quota: "automations", used, limit: maxAutomations }
  })
