import { Effect } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import { inviteBy } from "./MailJob.js"
import { MemberStore, type NewInvitation } from "./MemberStore.js"
import * as Throttle from "./Throttle.js"

export const makeInvite = Effect.gen(function* () {
  const jobs = yield* JobStore
  const store = yield* MemberStore
  const throttle = yield* Throttle.make
  return Effect.fnUntraced(function* (invitation: NewInvitation) {
    const wait = yield* throttle.retryAfterSeconds(inviterLimit, invitation.invitedBy)
    if (wait !== undefined) return yield* tooManyInvitations(wait)
    yield* throttle.hit(inviterLimit, invitation.invitedBy)
    const invited = yield* store.invite(invitation)
    if (yield* throttle.take(Throttle.mailLimit, invitation.email)) yield* jobs.enqueue(inviteBy(invited.id))
    return invited
  })
})

const inviterLimit: Throttle.ThrottleLimit = { kind: "invitations", max: 50, windowMs: 60 * 60 * 1000 }

const tooManyInvitations = (seconds: number) =>
  Throttle.rateLimited(
    "invitations",
    inviterLimit,
    seconds,
    `You sent ${inviterLimit.max} invitations within an hour. Wait ${seconds} seconds before the next one.`
  )
