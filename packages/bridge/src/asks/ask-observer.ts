import type { Reply, ReplyObserver } from '@reply/core'

/** Returns an observer that calls `update` with the reply whenever its pending asks may have changed. */
export function askObserver(update: (reply: Reply) => void): ReplyObserver {
  const pass = ({ reply }: { readonly reply: Reply }): void => update(reply)
  return {
    replyStarted: pass,
    questionAsked: pass,
    questionReplied: pass,
    questionRejected: pass,
    permissionAsked: pass,
    permissionReplied: pass,
    askChanged: pass,
    askWithdrawn: pass,
    replySettled: pass,
  }
}
