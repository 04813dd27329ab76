import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '@reply/core'
import { type ChildOptions, startChild } from '../../process/start.ts'
import { createTail } from './tail.ts'

/** How a command ended, as the protocol has it. */
export interface ExitStatus {
  readonly exitCode: number | null
  readonly signal: string | null
}

/** A command that the agent runs here. */
export interface Terminal {
  /** What it has written so far, as the protocol has it. */
  output(): { readonly output: string; readonly truncated: boolean; readonly exitStatus: ExitStatus | null }
  /** The same without terminal sequences, for people. */
  text(): string
  /** Resolves when the command and its group have ended and all that they wrote was read. */
  readonly exited: Promise<ExitStatus>
  /** Ends the whole group. Resolves when it has ended. */
  kill(): Promise<void>
}

interface TerminalOptions extends ChildOptions {
  /** How much of the end of its output is kept, in bytes. */
  readonly maxBytes: number
  readonly clock: Clock
  /** Called some time after it wrote, and once it has ended. */
  readonly onChange: () => void
}

/** How long what was written waits to be shown, in ms: a flood must not be copied for each of its pieces. */
const showAfterMs = 100

/** Starts a command without input. Rejects as `startChild` does. */
export async function startTerminal(options: TerminalOptions): Promise<Terminal> {
  const { maxBytes, clock, onChange } = options
  const child = await startChild(options)
  const tail = createTail(maxBytes)
  let exitStatus: ExitStatus | null = null
  let stopWaiting: (() => void) | undefined
  child.stdin.end()
  const exited = follow()
  return {
    output: () => ({ output: tail.text(), truncated: tail.isTruncated(), exitStatus }),
    text: () => stripVTControlCharacters(tail.text()),
    exited,
    kill: async () => {
      await child.close()
      await exited
    },
  }

  async function follow(): Promise<ExitStatus> {
    await Promise.allSettled([read(child.stdout), read(child.stderr)])
    const { code, signal } = await child.ended
    exitStatus = { exitCode: code ?? null, signal: signal ?? null }
    stopWaiting?.()
    onChange()
    return exitStatus
  }

  async function read(stream: Readable): Promise<void> {
    const decoder = new StringDecoder('utf8')
    for await (const chunk of stream) take(decoder.write(chunk))
    take(decoder.end())
  }

  function take(text: string): void {
    if (text === '') return
    tail.push(text)
    stopWaiting ??= clock.after(showAfterMs, () => {
      stopWaiting = undefined
      onChange()
    })
  }
}
