import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { ReplyError } from '@reply/core'
import { startFailure } from './command-failure.ts'
import { endGroup, startWatchdog, waitUntilGone } from './process-group.ts'

/** The program to start, and where. */
export interface ProcessOptions {
  /** The program: a path, or a name in `PATH`. Not interpreted by a shell. */
  readonly command: string
  /** Its arguments. Default: none. */
  readonly args?: readonly string[] | undefined
  /** The folder to start it in. Default: the current one. */
  readonly cwd?: string | undefined
  /** Added to your own environment. `PWD` is the folder. `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /**
   * How long processes may take to end after SIGTERM before SIGKILL, in ms. Processes that outlive the program also
   * have that long before SIGTERM. Default 3,000.
   */
  readonly graceMs?: number | undefined
  /** Ends the whole process group when it aborts. Default: none. */
  readonly signal?: AbortSignal | undefined
}

/** How long a program may take to exit after its input has ended, in ms. */
const exitMs = 2000

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
  /** Its standard input. A failed write calls back with the error and emits no `error` event. */
  readonly stdin: Writable
  /** Its standard output, with back-pressure: the program waits for a slow reader. */
  readonly stdout: Readable
  /** Its standard error, like `stdout`. Read both: the program waits if one of them is full. */
  readonly stderr: Readable
  /** Resolves when the whole group has ended. `stdout` and `stderr` may still hold unread output. */
  readonly ended: Promise<Exit>
  /**
   * Writes to its standard input. Resolves when all of it was written. Rejects with `closed` if the program no longer
   * reads it.
   */
  write(data: string | Uint8Array): Promise<void>
  /** Ends the whole group: SIGTERM, then SIGKILL after `graceMs`. Resolves when it has ended. Idempotent. */
  close(): Promise<void>
  /**
   * Ends its input, and the group like `close` if the program has not exited after two seconds. For agents, which write
   * their files before they exit: Claude Code 2.1.197 and Kimi Code 2.1.0 lose the end of a session if they get a signal
   * right after its last turn.
   */
  closeGently(): Promise<void>
}

/**
 * Starts a program in its own process group. The group never outlives your process, even if that is killed: a watchdog
 * shell ends it. Only a process that calls `setsid` leaves the group.
 *
 * Rejects with `unreachable` if it could not be started, with `closed` if the signal aborted before the start, and with
 * `unsupported` on Windows, which has no process groups.
 */
export async function startProcess(options: ProcessOptions): Promise<StartedProcess> {
  const { command, args = [], cwd, env = {}, graceMs = 3000, signal } = options
  if (process.platform === 'win32')
    throw new ReplyError('unsupported', `"${command}" was not started because Windows has no process groups. Use WSL.`)
  if (signal?.aborted) throw new ReplyError('closed', `"${command}" was not started because its signal was aborted.`)
  const watchdog = startWatchdog(graceMs)
  const { child, exited, group } = await spawned()
  const stdout = outputOf(child.stdout)
  const stderr = outputOf(child.stderr)
  let ending: Promise<void> | undefined
  let hasEnded = false
  /** Ends the group. All calls share one attempt. */
  const end = async (): Promise<void> => {
    ending ??= endGroup(group, graceMs)
    await ending
  }
  /** Ends the group unless it has ended, and resolves when it has. */
  const close = async (): Promise<void> => {
    // After the end, the system may reuse the group's id.
    if (!hasEnded) await end()
    await ended
  }
  /** Ends the input, waits up to two seconds for the end, then closes. */
  const closeGently = async (): Promise<void> => {
    child.stdin.end()
    const waiting = new AbortController()
    await Promise.race([ended, sleep(exitMs, undefined, { signal: waiting.signal })])
    waiting.abort()
    await close()
  }
  const onAbort = (): void => void close()
  signal?.addEventListener('abort', onAbort, { once: true })
  const ended = untilEnded()
  if (signal?.aborted) onAbort()
  return {
    pid: group,
    stdin: child.stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    ended,
    write,
    close,
    closeGently,
  }

  /** Starts the program under the watchdog. Rejects with `unreachable`, and leaves nothing behind, if that fails. */
  async function spawned(): Promise<Spawned> {
    try {
      const child = spawn(command, args, {
        cwd,
        // Set as a shell would, because `opencode run` 1.18.33 works in the folder of PWD.
        env: { ...process.env, PWD: resolve(cwd ?? '.'), ...env },
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      const exited = exitOf(child)
      const { pid: group } = child
      if (group !== undefined) watchdog.guard(group)
      // Node creates no pipes if this process has no free file descriptor. It reports that here.
      await once(child, 'spawn')
      child.stdin.on('error', () => {})
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

  /**
   * Resolves with the program's exit once its group has ended. Ends what is left of the group after `graceMs`. Then
   * releases the watchdog, the signal and both outputs.
   */
  async function untilEnded(): Promise<Exit> {
    const exit = await exited
    if (ending || !(await waitUntilGone(group, graceMs))) await end()
    hasEnded = true
    watchdog.release()
    signal?.removeEventListener('abort', onAbort)
    stdout.release(graceMs)
    stderr.release(graceMs)
    return exit
  }

  /** See `StartedProcess.write`. */
  function write(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      child.stdin.write(data, (cause) => {
        // Node reports no error for data that it still buffered when it closed the pipe.
        if (!cause && !child.stdin.destroyed) return resolve()
        const message = `"${command}" no longer reads its standard input: it has ended or closed it. Start it again.`
        reject(new ReplyError('closed', message, { cause }))
      })
    })
  }
}

/** A program that has started. */
interface Spawned {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly exited: Promise<Exit>
  readonly group: number
}

/** Resolves with how the program ended, with a code or else by a signal. */
function exitOf(child: Pick<NodeJS.EventEmitter, 'once'>): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code: number | null, signal: NodeJS.Signals | null) => {
      resolve(code === null ? { signal: signal ?? undefined } : { code })
    })
  })
}

/** A process's output, with back-pressure. */
interface Output {
  /** Ends when the process closes its side, or after `release`. */
  readonly stream: Readable
  /**
   * Called when the group has ended. A process that left the group may still hold the pipe, so the stream ends after
   * `quietMs` without data. A paused reader loses nothing.
   */
  release(quietMs: number): void
}

/**
 * Wraps the pipe of a process's output, because a process that left the group may hold the pipe after the others have
 * ended. After `release`, the stream ends once the pipe was quiet for `quietMs`. An error of the pipe ends the stream
 * without one.
 */
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
  let quietTimer: NodeJS.Timeout | undefined
  /** Ends the stream, once. */
  const end = (): void => {
    clearInterval(quietTimer)
    if (!stream.readableEnded && !stream.destroyed && !hasEnded) stream.push(null)
    hasEnded = true
  }
  let hasEnded = false
  pipe.pause()
  pipe.on('data', (chunk: Uint8Array) => {
    quietTimer?.refresh()
    if (!stream.push(chunk)) pipe.pause()
  })
  pipe.once('end', end)
  pipe.once('close', end)
  pipe.once('error', end)
  return {
    stream,
    release: (quietMs) => {
      if (hasEnded) return
      quietTimer = setInterval(() => {
        if (!pipe.isPaused()) pipe.destroy()
      }, quietMs)
      quietTimer.unref()
    },
  }
}
