import { plain } from "../words/Words.js"
import { forPeople } from "./Sentences.js"

/** Why a resource of the API is in its state. */
interface Reasoned {
  readonly reason: string | null
  readonly reason_message: string | null
}

/** The sentences of the reasons that a turn, a delivery and a merge request can have. */
export const reasonSentences: Readonly<Record<string, string>> = {
  access_lost: "Whoever sent it may not act here any more. Send it again.",
  answer_cut: "The last answer of the model was cut at its longest length. Ask the agent to go on.",
  answer_withheld: "The last answer of the model was withheld. Say it in another way, or choose another model.",
  approval_expired: "A question of the agent had no answer in time.",
  auth_required: "The repository refused the credential. Check its connection.",
  branch_gone: "The branch that the commit should go onto is gone. Deliver to a new branch.",
  branch_in_the_way: "Another branch of the repository takes this name. Choose another one.",
  branch_protected: "The branch is protected. Deliver to another one, and open a merge request.",
  budget_exhausted: "The budget is used up. Raise it, then retry.",
  budget_unenforceable:
    "The cost of the model is not known, so the budget would not hold. Add prices to the connection.",
  connection_required: "The agent has no connection to models. Add one, then retry.",
  context_exceeded: "The conversation is too long for the model. Start a new session, or choose another model.",
  context_unavailable: "The agent has lost its record of this conversation. Start a new session.",
  credential_invalid: "The gateway refused the key. Replace it in Connections, then retry.",
  email_private: "The forge refuses commits with a private e-mail address.",
  empty_changeset: "There is nothing to deliver.",
  executor_unavailable: "The agent had no place to run. Retry in a moment.",
  harness_crashed: "The agent ended unexpectedly. Its record of the conversation is kept: retry.",
  hidden_content: "The agent's git hides files that it may have changed. Have it show all files again.",
  lfs_content: "Files that belong to Git LFS would be stored as they are.",
  merge_conflict: "The changes and commits on the branch have changed the same lines. Bring them together first.",
  name_collision: "Two files have names that macOS and Windows cannot tell apart.",
  not_mergeable: "The branch conflicts with its target. Bring them together first.",
  outcome_unknown: "The end of the turn was not seen. Look at the changes, then acknowledge or retry.",
  output_invalid: "The agent gave an answer that Reins cannot read. Retry.",
  quota_exceeded: "The repository has no room left.",
  quota_exhausted: "A limit is used up. Wait or raise it, then retry.",
  rate_limited: "The forge takes no more requests for now. Retry later.",
  redirected: "The repository has moved. Set its new address.",
  rejected: "The repository refused it.",
  remote_head_changed: "The branch has moved since it was reviewed. Review the commit that is there now.",
  remote_unavailable: "The repository does not answer. Retry later.",
  repository_not_found: "The repository does not exist, or the connection may not see it.",
  result_invalid: "The result of the agent does not have the shape that was asked for.",
  result_missing: "The agent gave no result.",
  rule_violated: "A rule of the repository refused the push.",
  scope_missing: "The token of the connection lacks a permission. Replace it.",
  secret_found: "The forge found a secret in the changes.",
  service_restart: "The server was restarted. Look at the changes, then acknowledge or retry.",
  signing_key_missing: "The project wants signed commits, and the workspace has no key for it. Make one in Settings.",
  timeout: "It took too long. Retry, or split the task.",
  too_large: "A file is too large for the repository.",
  unencrypted_content: "Files that the repository keeps encrypted would be stored in plain.",
  unfiltered_content: "Files would be stored without a filter of the repository.",
  upstream_error: "The gateway did not answer as it should. Check the model and the connection, then retry.",
  user_cancelled: "Somebody cancelled it.",
  waiting_capacity: "It waits for a free place on the server."
}

/** The reason in one sentence for a list; empty for none. The words of gateways and agents stay out of lists. */
export const reasonInShort = ({ reason, reason_message }: Reasoned): string => {
  if (reason === null) return forPeople(reason_message ?? "")
  return reasonSentences[reason] ?? (forPeople(reason_message ?? "") || `${plain(reason)}.`)
}

/** All that a person can use of a reason, with the server's own words first. */
export const reasonInFull = (given: Reasoned): string => forPeople(given.reason_message ?? "") || reasonInShort(given)
