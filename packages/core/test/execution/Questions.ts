import type { Asked } from "@reins/machine/harness/HarnessEvent"

/** The question of an agent before it runs a command. */
export const question: Asked = {
  _tag: "asked",
  request_id: "ask-1",
  kind: "approval",
  title: "Run the tests",
  description: '{"command":"npm test"}',
  tool_id: "call-1",
  options: [
    { id: "yes", name: "Allow", kind: "allow_once" },
    { id: "no", name: "Refuse", kind: "reject_once" }
  ],
  form: null,
  url: null,
  default: "no"
}
