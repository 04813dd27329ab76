import { connect, type Reply } from '@reply/core'
import { comparableReply } from '../src/comparable-reply.ts'

export interface Watch {
  /** The replies, once all of them have settled; those that don't within `patienceMs` as they are. */
  stop(patienceMs: number): Promise<readonly unknown[]>
}

/** Follows a server as a user of the core would, beside the tape. */
export const startWatch = async (server: { url: string; directory: string; password?: string }): Promise<Watch> => {
  const replies: Reply[] = []
  const opencode = connect(server)
  opencode.watch(
    { directory: server.directory },
    {
      observe: (first) => {
        const index = replies.push(first) - 1
        const keep = ({ reply }: { readonly reply: Reply }): void => {
          replies[index] = reply
        }
        return [{ messageUpdated: keep, partChanged: keep, replySettled: keep, replyAmended: keep }]
      },
    },
  )
  await opencode.ready
  return { stop }

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
