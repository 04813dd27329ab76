import { toError } from '../error.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import type { Command, CommandServices } from './command.ts'

/** Posts the answers that may be missing in the chat. No reply if one was posted. */
export function resendCommand({ failed, onError }: CommandServices): Command {
  return {
    name: 'resend',
    description: 'post answers again that may not have arrived',
    isOnce: true,
    isPrompting: true,
    run: async ({ place }) => {
      try {
        return (await failed.resend(place)) > 0 ? undefined : { text: texts.nothingMissing }
      } catch (error) {
        onError(toError(error))
        return { text: texts.notResent(plain(chatMessageOf(error))) }
      }
    },
  }
}
