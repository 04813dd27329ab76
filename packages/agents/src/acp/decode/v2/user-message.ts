import { promptResponse, userMessage } from './schema.ts'

/** Reads the id of a prompt's message from the response to the prompt. Undefined if it is malformed. */
export function readMessageID(response: unknown): string | undefined {
  return promptResponse.safeParse(response).data?.messageId
}

/** Reads the id of a message of the user, or of a piece of one. Undefined for other updates. */
export function readUserMessageID(update: { readonly sessionUpdate: string }): string | undefined {
  return userMessage.safeParse(update).data?.messageId
}
