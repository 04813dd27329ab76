import { type Reply, replay as replayRecording } from '@reply/core'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { createOutput, type OutputOptions, type ReplyOutput } from '../output.ts'
import type { ProcessIO } from '../process-io.ts'
import { bytesOf, createPace, recordedClock } from '../recording-input.ts'

export interface ReplayCommandOptions extends OutputOptions {
  /** How many times faster than recorded. Default: as fast as possible. */
  readonly speed?: number | undefined
}

/**
 * Shows recordings as if they happened now. Exits with 0 whatever the replies' outcomes; an unreadable file is an
 * error.
 */
export async function replay(files: readonly string[], options: ReplayCommandOptions, io: ProcessIO): Promise<number> {
  const left = listenForExit(io, { interrupted: () => EXIT.interrupted })
  const outputs: ReplyOutput[] = []

  async function replayAll(): Promise<number> {
    for (const file of files) {
      const clock = recordedClock(io.clock, options.speed)
      const output = createOutput(io, options, { prompt: true, clock, more: { file } })
      outputs.push(output)
      await replayOne({ file, clock, output, speed: options.speed }, io)
    }
    return EXIT.done
  }

  try {
    return await Promise.race([replayAll(), left.code])
  } finally {
    left.stop()
    await Promise.all(outputs.map((output) => output.stop()))
  }
}

interface Showing {
  readonly file: string
  readonly clock: ReturnType<typeof recordedClock>
  readonly output: ReplyOutput
  readonly speed: number | undefined
}

async function replayOne({ file, clock, output, speed }: Showing, io: ProcessIO): Promise<void> {
  const pace = createPace(io.clock, speed)
  let failure: Error | undefined
  const replies: readonly Reply[] = await replayRecording(bytesOf(file, io.stdin), {
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
  if (replies.length === 0 && failure !== undefined) {
    throw new ConsoleError('unreadable', `${file} is not a recording of an event stream: ${failure.message}`)
  }
  if (replies.length === 0) output.note(`${file}: contains no replies`)
  for (const reply of replies) output.print(reply)
}
