import type { Automation, AutomationRun, AutomationsUpdateInput, Delivery, Hook, WebhookDelivery } from "@reins/client"

/** The words of a list of the contract in the order of the help. It does not compile with one too few or too many. */
const wordsOf = <A extends string>(words: Readonly<Record<A, true>>): ReadonlyArray<A> =>
  Object.keys(words).filter((word): word is A => Object.hasOwn(words, word))

export const overlaps = wordsOf<NonNullable<AutomationsUpdateInput["overlap"]>>({
  skip: true,
  queue: true,
  parallel: true,
  wait: true
})

export const missedTimes = wordsOf<NonNullable<AutomationsUpdateInput["missed"]>>({ run_once: true, skip: true })

export const automationStates = wordsOf<Automation["state"]>({ active: true, paused: true, done: true })

export const runStates = wordsOf<AutomationRun["state"]>({
  waiting: true,
  running: true,
  succeeded: true,
  failed: true,
  cancelled: true,
  skipped: true
})

export const hookKinds = wordsOf<Hook["kind"]>({
  standard: true,
  github: true,
  gitlab: true,
  gitea: true,
  token: true
})

export const webhookDeliveryStates = wordsOf<WebhookDelivery["state"]>({ pending: true, succeeded: true, failed: true })

/** The findings in a changeset that keep it off a branch until somebody allows them, the gravest first. */
export type Obstacle = Delivery["allow"][number]

export const obstacles = wordsOf<Obstacle>({
  hidden_content: true,
  unencrypted_content: true,
  unfiltered_content: true,
  lfs_content: true,
  name_collision: true
})
