import type { CareEnd, CareReason } from "./Care.js"

/** A sentence for each reason: what happened and what to do next. */
export const reasonMessages: Readonly<Record<CareReason | CareEnd, string>> = {
  turns_exhausted:
    "The turns that were allowed are used up. Look at the merge request, and put the care again to go on.",
  budget_exhausted: "The budget is used up. Put the care again with a higher one to go on.",
  same_failure:
    "The same checks are red after two turns, or it conflicts again. Look at them, and tell the session what it does not know.",
  no_change: "The agent has changed nothing. Read its answer, and decide whether the failure comes from this change.",
  turn_failed: "The turn did not end well. Look at the turn, and put the care again to go on.",
  protected_path: "The agent has changed files that only a person delivers. Review the proposal, then deliver it.",
  head_keeps_moving: "The branch has moved during each attempt to push. Put the care again when it is quiet.",
  merge_conflict:
    "Commits of others change the same lines, on the branch or on its base, and no turn has brought them together. Do that by hand, then put the care again.",
  undelivered_changes:
    "The session has changes that were not delivered. Deliver them or take them back, then put the care again.",
  checks_need_approval:
    "A check waits for the approval of a person on the forge. Approve it there, then put the care again.",
  checks_do_not_run: "Checks were cancelled, or have not reported in time. Look at the CI, then put the care again.",
  red_on_base:
    "The failed checks have failed on the base branch too. Mend them there, bring that into the branch, then put the care again.",
  fork: "The branch is in another repository, where Reins does not push. Go on by hand.",
  branch_gone:
    "The branch, its merge request or its repository is no longer where it was. Push the branch again or correct the address, then put the care again.",
  auth_required:
    "The forge or the repository does not accept the credential. Mend the connection, then put the care again.",
  push_refused: "The repository does not take the push. Look at the delivery, mend its reason, and put the care again.",
  owner_lost_access:
    "The account that the care acts for may no longer change this session, or its API key is no longer good. Somebody who may has to put the care again.",
  stopped_by_comment: "Somebody who may write to the repository has asked to stop. Put the care again to go on.",
  merged: "The merge request is merged.",
  closed: "The merge request was closed without a merge.",
  removed: "Somebody has removed the care."
}
