import { useSignal } from "@preact/signals"
import type { Session } from "@reins/client"
import { readModels, rememberModel } from "../agents/Models.js"
import { type Action, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { Combobox } from "../ui/Combobox.js"

/** Changes the model of a session, from its next turn on. Its models are read when somebody asks for them. */
export const ModelPicker = ({
  action,
  changed,
  session: { harness, id, workspace_id }
}: {
  readonly session: Session
  readonly action: Action
  readonly changed: () => void
}) => {
  const isOpen = useSignal(false)
  const { connection_id, model, provider_id } = harness
  const typed = useSignal(model ?? "")
  const models = useLoaded(
    "the models",
    async (signal) => {
      if (!isOpen.value) return undefined
      const { items } = await wholeOf(reins.connections.list({ workspace_id, limit: 100 }, { signal }))
      const own = items.filter(({ id }) => id === connection_id)
      return readModels(workspace_id, provider_id, own.length === 0 ? [undefined] : own, signal)
    },
    [provider_id, connection_id, isOpen.value]
  )
  const set = (to: string) =>
    action.run("the model", async () => {
      isOpen.value = false
      if (to === "" || to === model) return
      await reins.sessions.update({ session_id: id, model: to })
      rememberModel(workspace_id, provider_id, to)
      changed()
    })
  if (!isOpen.value)
    return (
      <button
        type="button"
        class="small model"
        title="Change the model, from the next turn on"
        onClick={() => {
          typed.value = ""
          isOpen.value = true
        }}
      >
        <span class="sr">Model: </span>
        {model ?? "Choose a model"}
      </button>
    )
  const choices = models.value.value?.choices ?? []
  return (
    <span class="model-picker">
      <Combobox
        label="Model"
        choices={choices}
        placeholder={model ?? "Search or type a model"}
        value={typed.value}
        onChoose={(value, choice) => {
          typed.value = value
          if (choice !== undefined) void set(value)
        }}
        onEnter={(text) => void set(text.trim())}
        onLeave={() => (isOpen.value = false)}
      />
      <button type="button" class="small" onClick={() => (isOpen.value = false)}>
        Cancel
      </button>
    </span>
  )
}
