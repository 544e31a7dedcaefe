import { Copy } from "./Basics.js"

/** A secret that is shown this once. */
export const Secret = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div class="once" role="status">
    <p>This is the {name}. It is shown this once; copy it now.</p>
    <code class="block">{value}</code>
    <Copy label={`Copy the ${name.split(" ")[0]}`} text={value} />
  </div>
)
