import { type Reply, replay as replayRecording } from '@reply/core'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit.ts'
import { leaving } from '../leave.ts'
import { createOutput, type OutputOptions } from '../output.ts'
import { bytesOf, createPace, recordedClock } from '../recorded.ts'
import type { World } from '../world.ts'

export interface ReplayCommandOptions extends OutputOptions {
  /** How many times faster than it was. Default: as fast as it goes. */
  readonly speed?: number | undefined
}

/** Shows recordings as if they happened now. Ends with 0 whatever the replies came to; an unreadable file is an error. */
export async function replay(files: readonly string[], options: ReplayCommandOptions, world: World): Promise<number> {
  const left = leaving(world, () => EXIT.interrupted)
  try {
    return await Promise.race([replayAll(files, options, world), left.code])
  } finally {
    left.stop()
  }
}

async function replayAll(files: readonly string[], options: ReplayCommandOptions, world: World): Promise<number> {
  for (const file of files) await replayOne(file, options, world)
  return EXIT.done
}

async function replayOne(file: string, options: ReplayCommandOptions, world: World): Promise<void> {
  const { speed } = options
  const clock = recordedClock(world.clock, speed)
  const output = createOutput(world, options, { prompt: true, clock, more: { file } })
  const pace = createPace(world.clock, speed)
  let failure: Error | undefined
  let replies: readonly Reply[]
  try {
    replies = await replayRecording(bytesOf(file, world.stdin), {
      observe: output.observe,
      onError: (error) => {
        failure ??= error
      },
      pace(at) {
        const wait = pace(at)
        if (wait === undefined) return void clock.set(at)
        return wait.then(() => clock.set(at))
      },
    })
    await output.settled()
  } finally {
    await output.stop()
  }
  if (replies.length === 0 && failure !== undefined) {
    throw new ConsoleError('unreadable', `${file} is no recording of an event stream: ${failure.message}`)
  }
  if (replies.length === 0) output.remark(`${file}: no reply in it`)
  for (const reply of replies) output.print(reply)
}
