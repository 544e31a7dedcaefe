/** Makes the types, the methods and the routes of the client anew, where they are not as the OpenAPI document tells. */
export default function generateClient(): Promise<void>
