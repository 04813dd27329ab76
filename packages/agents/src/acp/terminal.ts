import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '@reply/core'
import { type ProcessOptions, startProcess } from '../process/start-process.ts'

/** The protocol's exit status. */
export interface ExitStatus {
  readonly exitCode: number | null
  readonly signal: string | null
}

/** A command that the agent runs here. */
export interface Terminal {
  /** Its output so far, in the protocol's shape. */
  output(): { readonly output: string; readonly truncated: boolean; readonly exitStatus: ExitStatus | null }
  /** The output without terminal sequences, for people. */
  text(): string
  /** Resolves when the command and its group have ended and their output was read. */
  readonly exited: Promise<ExitStatus>
  /** Ends the whole process group. Resolves when it has ended. */
  kill(): Promise<void>
}

interface TerminalCommand extends ProcessOptions {
  /** How many bytes of output are kept, from the end. */
  readonly maxBytes: number
  readonly clock: Clock
  /** Called shortly after it wrote, and once when it has ended. */
  readonly onChange: () => void
}

/** How long new output waits before it is shown, in ms. Avoids copying the whole text for each small write. */
const showAfterMs = 100

/**
 * Starts a command of an agent, without input, and keeps the last `maxBytes` of its output. Calls `onChange` when the output
 * has grown, and at the end. Rejects as `startProcess` does.
 */
export async function startTerminal(options: TerminalCommand): Promise<Terminal> {
  const { maxBytes, clock, onChange } = options
  const child = await startProcess(options)
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

  /** Resolves with the exit status when the output was read and the command has ended. Reports the last change before. */
  async function follow(): Promise<ExitStatus> {
    await Promise.allSettled([read(child.stdout), read(child.stderr)])
    const { code, signal } = await child.ended
    exitStatus = { exitCode: code ?? null, signal: signal ?? null }
    stopWaiting?.()
    onChange()
    return exitStatus
  }

  /** Appends all of a stream to the output, as UTF-8. */
  async function read(stream: Readable): Promise<void> {
    const decoder = new StringDecoder('utf8')
    for await (const chunk of stream) take(decoder.write(chunk))
    take(decoder.end())
  }

  /** Appends text to the output, and reports the change after `showAfterMs`. Does nothing for an empty text. */
  function take(text: string): void {
    if (text === '') return
    tail.push(text)
    stopWaiting ??= clock.after(showAfterMs, () => {
      stopWaiting = undefined
      onChange()
    })
  }
}

/** The end of a text of any length. */
interface Tail {
  push(text: string): void
  /** As many whole characters from the end as fit. */
  text(): string
  isTruncated(): boolean
}

/** Smaller pieces are joined, so that many tiny writes take little memory. In bytes. */
const joinBelow = 4096

/**
 * Keeps the last `maxBytes` of a UTF-8 text, cut between characters, so that `text` may be shorter. `isTruncated` tells
 * whether more was pushed.
 */
export function createTail(maxBytes: number): Tail {
  let pieces: Uint8Array[] = []
  let size = 0
  let total = 0
  return { push, text, isTruncated: () => total > maxBytes }

  /** Appends a text, and drops the pieces that are no longer among the last `maxBytes`. */
  function push(text: string): void {
    const bytes = Buffer.from(text)
    const last = pieces.at(-1)
    if (last && last.length + bytes.length < joinBelow) pieces[pieces.length - 1] = Buffer.concat([last, bytes])
    else pieces.push(bytes)
    size += bytes.length
    total += bytes.length
    const from = firstKept()
    if (from > 0) pieces = pieces.slice(from)
  }

  /** Returns the index of the first piece that is still needed, and subtracts the others from `size`. */
  function firstKept(): number {
    let from = 0
    for (const { length } of pieces) {
      if (size - length < maxBytes) break
      size -= length
      from++
    }
    return from
  }

  function text(): string {
    const bytes = Buffer.concat(pieces)
    let start = Math.max(0, bytes.length - maxBytes)
    while (isInside(bytes, start)) start++
    return bytes.subarray(start).toString('utf8')
  }
}

/** Whether this byte continues a character. */
function isInside(bytes: Uint8Array, at: number): boolean {
  return ((bytes[at] ?? 0) & 0xc0) === 0x80
}
