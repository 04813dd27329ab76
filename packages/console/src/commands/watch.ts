import type { Reply, ReplyObserver } from '@reply/core'
import { openServer } from '../connection.ts'
import { EXIT } from '../exit.ts'
import { leaving } from '../leave.ts'
import { createOutput, type OutputOptions, remarkOn } from '../output.ts'
import { type ServerOptions, shownUrl } from '../server.ts'
import type { World } from '../world.ts'

export interface WatchCommandOptions extends ServerOptions, OutputOptions {
  readonly session?: string | undefined
}

/** Shows every reply on a server, or in one session, also those that others started. Ends with Control-C. */
export async function watch(options: WatchCommandOptions, world: World): Promise<number> {
  const { session, directory } = options
  const remark = remarkOn(world, options)
  const opencode = await openServer(options, world, remark)
  const output = createOutput(world, options, { prompt: true, opencode, hint: 'ctrl-c leaves' })
  remark(`watching ${session ?? 'every session'} at ${shownUrl(options)}; Control-C leaves`)
  const left = leaving(world, () => EXIT.done)

  function observe(reply: Reply): readonly ReplyObserver[] {
    return [...output.observe(reply), { replySettled: (settled) => output.print(settled.reply) }]
  }

  const stop = opencode.watch(
    {
      ...(session === undefined ? {} : { sessionID: session }),
      ...(directory === undefined ? {} : { directory }),
    },
    { observe: (reply) => [...observe(reply)] },
  )
  try {
    return await left.code
  } finally {
    left.stop()
    stop()
    await output.stop()
    await opencode.close()
  }
}
