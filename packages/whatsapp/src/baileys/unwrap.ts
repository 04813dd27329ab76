import { WhatsAppError } from '../error.ts'
import type { Unwrap } from './inbound.ts'

export interface UnwrapOptions {
  /** Default: the one of `import('baileys')`. */
  readonly normalizeMessageContent?: Unwrap | undefined
  readonly onError: (error: WhatsAppError) => void
}

/** Baileys' function, imported on first use: hosts of the Cloud API don't have the package. Never rejects. */
export function createUnwrap({ normalizeMessageContent: given, onError }: UnwrapOptions): () => Promise<Unwrap> {
  let imported: Promise<Unwrap> | undefined
  return async () => {
    if (given) return given
    imported ??= load()
    return await imported
  }

  async function load(): Promise<Unwrap> {
    try {
      const { normalizeMessageContent } = await import('baileys')
      return normalizeMessageContent
    } catch (cause) {
      const what = "Baileys can't be imported, so messages in wrappers, such as disappearing ones, are skipped."
      onError(new WhatsAppError('malformed', `${what} Pass normalizeMessageContent to the channel.`, { cause }))
      return (content) => content ?? undefined
    }
  }
}
