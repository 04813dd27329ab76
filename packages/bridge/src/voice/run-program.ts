import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '@reply/core'
import { oneLine } from '@reply/sink/internal'
import { messageOf } from '../error.ts'

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
/** How long the kernel may take to end a killed group, in ms. */
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
  const release = guardGroup(child.pid)
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
    // What it started must not outlive it, and could keep its output open.
    child.once('exit', () => killGroup(child))
    child.once('close', (code, killedBy) => {
      if (code === 0) return finish({ type: 'done', output: Buffer.concat(chunks) })
      const why = code === null ? `It was ended by ${killedBy}.` : `It exited with ${code}.`
      finish({ type: 'failed', detail: `${why} ${lastWords(errors)}`.trimEnd() })
    })

    /** Kills the group, and finishes with this result once it is gone, or after `killMs`. */
    function end(result: ProgramEnd): void {
      if (early) return
      early = result
      killGroup(child)
      // A process outside of the group may hold them.
      for (const pipe of pipes) pipe?.destroy()
      stopTimer = clock.after(killMs, () => finish(result))
    }

    /** Resolves with the result of `end`, or with this one. Later calls do nothing. */
    function finish(result: ProgramEnd): void {
      stopTimer()
      release()
      signal.removeEventListener('abort', onAbort)
      resolve(early ?? result)
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

/** Returns the end of an error output as one line without control sequences. */
function lastWords(errors: string): string {
  const text = stripVTControlCharacters(errors).trim()
  return oneLine(text.slice(-detailLength), detailLength)
}

/** Reads a pipe that only this process holds. If it ends without a line, this process died, and the script kills the group. */
const watchdogScript = 'read -r ended || kill -s KILL -- "-$1" 2>/dev/null'

/** Has a shell kill a group if this process dies. Returns a function that ends the shell. */
function guardGroup(group: number | undefined): () => void {
  if (group === undefined) return () => {}
  const shell = spawn('/bin/sh', ['-c', watchdogScript, 'sh', String(group)], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without a shell, the program still has its time limit while this process lives.
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  return () => void shell.stdin.end('ended\n')
}
