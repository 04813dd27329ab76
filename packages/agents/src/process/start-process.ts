import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { ReplyError } from '@reply/core'
import { startFailure } from './command-failure.ts'
import { endGroup, isGone, startWatchdog } from './process-group.ts'

/** The program to start, and where. */
export interface ProcessOptions {
  /** The program: a path, or a name in `PATH`. No shell reads it. */
  readonly command: string
  /** Its arguments. Default: none. */
  readonly args?: readonly string[] | undefined
  /** The folder to start it in. Default: the current one. */
  readonly cwd?: string | undefined
  /** Added to your own environment. `PWD` is the folder. `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /**
   * How long processes may take to end after SIGTERM before SIGKILL, in ms. Processes that the program leaves behind also
   * have that long before SIGTERM. Default 3,000.
   */
  readonly graceMs?: number | undefined
  /** Ends the whole process group when it aborts. Default: none. */
  readonly signal?: AbortSignal | undefined
}

/** How a program ended: with a code or by a signal. */
export interface Exit {
  /** Its exit code. Absent if a signal ended it. */
  readonly code?: number | undefined
  /** The signal that ended it. Absent if it exited. */
  readonly signal?: NodeJS.Signals | undefined
}

/** A running program, the leader of its own process group. */
export interface StartedProcess {
  /** Its process id, and the id of its group. */
  readonly pid: number
  /** Its standard input. A failed write rejects or calls back, and emits nothing. */
  readonly stdin: Writable
  /** Its standard output, with back-pressure: the program waits for a slow reader. */
  readonly stdout: Readable
  /** Its standard error, as `stdout`. Read both: the program waits if one of them is full. */
  readonly stderr: Readable
  /** Resolves when the whole group has ended. `stdout` and `stderr` may still hold unread output. */
  readonly ended: Promise<Exit>
  /** Writes to its standard input. Resolves when all of it was written. Rejects with `closed` if nothing reads it. */
  write(data: string | Uint8Array): Promise<void>
  /** Ends the whole group: SIGTERM, then SIGKILL after `graceMs`. Resolves when it has ended. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts a program in a process group of its own. The group never outlives your process, even if that is killed: a shell
 * waits at a pipe and ends the group. Only a process that calls `setsid` leaves the group.
 *
 * Rejects with `unreachable` if it could not be started, with `closed` if the signal aborted before the start, and with
 * `unsupported` on Windows, which has no process groups.
 */
export async function startProcess(options: ProcessOptions): Promise<StartedProcess> {
  const { command, args = [], cwd, env = {}, graceMs = 3000, signal } = options
  if (process.platform === 'win32')
    throw new ReplyError('unsupported', `"${command}" was not started: Windows has no process groups. Use WSL.`)
  if (signal?.aborted) throw new ReplyError('closed', `"${command}" was not started: it was aborted before.`)
  const watchdog = startWatchdog(graceMs)
  const { child, exited, group } = await spawned()
  const stdout = outputOf(child.stdout)
  const stderr = outputOf(child.stderr)
  let ending: Promise<void> | undefined
  let isOver = false
  const end = async (): Promise<void> => {
    ending ??= endGroup(group, graceMs)
    await ending
  }
  const close = async (): Promise<void> => {
    // The system may have given the group's id to others since.
    if (!isOver) await end()
    await ended
  }
  const onAbort = (): void => void close()
  signal?.addEventListener('abort', onAbort, { once: true })
  const ended = untilEnded()
  if (signal?.aborted) onAbort()
  return { pid: group, stdin: child.stdin, stdout: stdout.stream, stderr: stderr.stream, ended, write, close }

  async function spawned(): Promise<Spawned> {
    try {
      const child = spawn(command, args, {
        cwd,
        // As a shell does: `opencode run` 1.18.33 works in the folder that PWD names.
        env: { ...process.env, PWD: resolve(cwd ?? '.'), ...env },
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      child.stdin.on('error', () => {})
      const exited = exitOf(child)
      const { pid: group } = child
      if (group !== undefined) watchdog.guard(group)
      await once(child, 'spawn')
      if (group === undefined) throw new Error('it has no process id')
      await watchdog.started.catch(async (cause: unknown) => {
        await endGroup(group, graceMs)
        throw cause
      })
      return { child, exited, group }
    } catch (error) {
      watchdog.release()
      throw await startFailure(command, cwd, error)
    }
  }

  async function untilEnded(): Promise<Exit> {
    const exit = await exited
    if (ending || !(await isGone(group, graceMs))) await end()
    isOver = true
    watchdog.release()
    signal?.removeEventListener('abort', onAbort)
    stdout.release(graceMs)
    stderr.release(graceMs)
    return exit
  }

  function write(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      child.stdin.write(data, (cause) => {
        // Node calls back without an error for what it still held when it closed the pipe.
        if (!cause && !child.stdin.destroyed) return resolve()
        const message = `"${command}" reads its standard input no longer: it has ended or closed it. Start it anew.`
        reject(new ReplyError('closed', message, { cause }))
      })
    })
  }
}

interface Spawned {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly exited: Promise<Exit>
  readonly group: number
}

function exitOf(child: Pick<NodeJS.EventEmitter, 'once'>): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code: number | null, signal: NodeJS.Signals | null) => {
      resolve(code === null ? { signal: signal ?? undefined } : { code })
    })
  })
}

/** What a process writes, with back-pressure. */
interface Output {
  /** Ends when the process closes its side, or when `release` gave it up. */
  readonly stream: Readable
  /**
   * Its processes are gone. One that left the group may still hold the pipe: the stream then ends after `quietMs`
   * without a byte. A reader that pauses loses nothing.
   */
  release(quietMs: number): void
}

/** Wraps a pipe so that its end can be decided here. */
function outputOf(pipe: Readable): Output {
  const stream = new Readable({
    read: () => {
      pipe.resume()
    },
    destroy: (error, done) => {
      pipe.destroy()
      done(error)
    },
  })
  let quiet: NodeJS.Timeout | undefined
  const end = (): void => {
    clearInterval(quiet)
    if (!stream.readableEnded && !stream.destroyed && !hasEnded) stream.push(null)
    hasEnded = true
  }
  let hasEnded = false
  pipe.pause()
  pipe.on('data', (chunk: Uint8Array) => {
    quiet?.refresh()
    if (!stream.push(chunk)) pipe.pause()
  })
  pipe.once('end', end)
  pipe.once('close', end)
  pipe.once('error', end)
  return {
    stream,
    release: (quietMs) => {
      if (hasEnded) return
      quiet = setInterval(() => {
        if (!pipe.isPaused()) pipe.destroy()
      }, quietMs)
      quiet.unref()
    },
  }
}
