import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '@reply/core'
import { quotable } from '@reply/sink/channel'
import { oneLine } from '@reply/sink/internal'
import { messageOf } from '../error.ts'
import { runIfThisDies } from './watchdog.ts'

/** A program to run, and its limits. */
export interface Program {
  /** The program, by its path or by its name in `PATH`, and its arguments. Never interpreted by a shell. */
  readonly command: readonly [string, ...string[]]
  /** The folder that it starts in. */
  readonly cwd: string
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The most that it may print, in bytes. */
  readonly maxBytes: number
  /** Ends the program and everything that it started. */
  readonly signal: AbortSignal
  readonly clock: Pick<Clock, 'after'>
}

/**
 * How a program ended. `detail` is one line about a failure, for the operator: the end of its error output, or why it did not
 * start. `missing`: there is no such program. `killed`: by `signal` of `Program`. `flooded`: it printed more than `maxBytes`.
 */
export type ProgramEnd =
  | { readonly type: 'done'; readonly output: Uint8Array }
  | { readonly type: 'failed' | 'missing'; readonly detail: string }
  | { readonly type: 'killed' | 'flooded' }

/** How much of the end of the error output is kept, in UTF-16 units. */
const detailLength = 300
/** How long a killed group may take to end and to close its output, in ms. */
const killMs = 1000

/**
 * Runs a program in a process group of its own, with no input. Resolves when it has ended, and its whole group is killed then.
 * If this process dies first, a shell kills the group. Never rejects.
 */
export async function runProgram({ command, cwd, env, maxBytes, signal, clock }: Program): Promise<ProgramEnd> {
  const [file, ...args] = command
  if (signal.aborted) return { type: 'killed' }
  if (process.platform === 'win32') return { type: 'failed', detail: 'Windows has no process groups. Use WSL.' }
  let child: ChildProcess
  try {
    child = spawn(file, args, { cwd, env: { ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    return { type: 'failed', detail: messageOf(error) }
  }
  // Node creates no pipes if this process has no free file descriptor. An `error` event follows.
  const pipes: readonly (Readable | null)[] = [child.stdout, child.stderr]
  // Without a shell, the program still has its time limit while this process lives.
  const release = child.pid === undefined ? () => {} : runIfThisDies('kill -s KILL -- "-$1"', String(child.pid))
  return await new Promise<ProgramEnd>((resolve) => {
    const chunks: Uint8Array[] = []
    let length = 0
    let errors = ''
    let early: ProgramEnd | undefined
    let stopTimer = (): void => {}
    const onAbort = (): void => end({ type: 'killed' })
    signal.addEventListener('abort', onAbort, { once: true })
    child.stdout?.on('data', (chunk: Uint8Array) => {
      length += chunk.length
      if (length > maxBytes) return end({ type: 'flooded' })
      chunks.push(chunk)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-detailLength * 4)
    })
    child.once('error', (error) => {
      const isMissing = 'code' in error && error.code === 'ENOENT'
      finish({ type: isMissing ? 'missing' : 'failed', detail: error.message })
    })
    child.once('exit', (...how) => {
      // What it started must not outlive it, and could keep its output open.
      killGroup(child)
      if (early) return
      // A process outside of the group may keep it open, too. What is in the pipe is read before `setImmediate`.
      stopTimer = clock.after(killMs, () => void setImmediate(() => finish(endOf(...how))))
    })
    child.once('close', (...how) => finish(endOf(...how)))

    /** Returns the end of a program that exited with a code, or was ended by a signal. */
    function endOf(code: number | null, killedBy: NodeJS.Signals | null): ProgramEnd {
      if (code === 0) return { type: 'done', output: Buffer.concat(chunks) }
      const why = code === null ? `It was ended by ${killedBy}.` : `It exited with ${code}.`
      return { type: 'failed', detail: `${why} ${lastWords(errors)}`.trimEnd() }
    }

    /** Kills the group, and finishes with this result once it is gone, or after `killMs`. */
    function end(result: ProgramEnd): void {
      if (early) return
      early = result
      killGroup(child)
      closePipes()
      stopTimer()
      stopTimer = clock.after(killMs, () => finish(result))
    }

    /** Resolves with the result of `end`, or with this one. Later calls do nothing. */
    function finish(result: ProgramEnd): void {
      stopTimer()
      closePipes()
      release()
      signal.removeEventListener('abort', onAbort)
      resolve(early ?? result)
    }

    /** Closes this process's ends of the pipes: a process outside of the group may hold the others. */
    function closePipes(): void {
      for (const pipe of pipes) pipe?.destroy()
    }
  })
}

/** Kills all processes of the child's group. Does nothing if none is left. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // ESRCH: it is gone. EPERM, on macOS: only zombies are left.
  }
}

/** Returns the end of an error output as one line without control sequences and secrets, which are found before it is cut. */
function lastWords(errors: string): string {
  const text = quotable(stripVTControlCharacters(errors)).trim()
  return oneLine(text.slice(-detailLength), detailLength)
}
