import { connect, type Reply } from '@reply/core'
import { comparableReply } from '../src/comparable-reply.ts'

/** A client that follows all replies of a server. */
export interface Watch {
  /**
   * Closes the client, and resolves with the comparable replies in order of opening, once all have settled. Those that
   * don't within `patienceMs` are as they are then.
   */
  stop(patienceMs: number): Promise<readonly unknown[]>
}

/** Follows a server as a user of the core would, beside the tape. Resolves when it is connected. */
export const startWatch = async (server: { url: string; directory: string; password?: string }): Promise<Watch> => {
  const replies: Reply[] = []
  const opencode = connect(server)
  opencode.watch(
    { directory: server.directory },
    {
      observe: (first) => {
        const index = replies.push(first) - 1
        /** Keeps the newest state of the reply. */
        const keep = ({ reply }: { readonly reply: Reply }): void => {
          replies[index] = reply
        }
        return [{ messageUpdated: keep, partChanged: keep, replySettled: keep, replyAmended: keep }]
      },
    },
  )
  await opencode.ready
  return { stop }

  /**
   * Waits until all replies have settled, for at most `patienceMs`, looking every 100 ms. Then closes the client, and
   * resolves with the comparable replies.
   */
  async function stop(patienceMs: number): Promise<readonly unknown[]> {
    const until = Date.now() + patienceMs
    while (Date.now() < until && replies.some(({ phase }) => phase !== 'settled')) {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const seen = replies.map((reply) => comparableReply(JSON.parse(JSON.stringify(reply))))
    await opencode.close()
    return seen
  }
}
