import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** The first intervals of checking whether a group is gone, in ms. Short, because most processes end at once. */
const checkIntervals = [5, 10, 20, 40, 80]

/** How long the kernel may take to end a group after SIGKILL, in ms. A zombie that no process reaps stays for longer. */
const killMs = 1000

/**
 * Ends all processes of a group: SIGTERM, also to stopped ones, then SIGKILL after `graceMs`. Resolves when they are gone, or a
 * second after SIGKILL.
 */
export async function endGroup(group: number, graceMs: number): Promise<void> {
  signalGroup(group, 'SIGTERM')
  // A stopped process handles SIGTERM only after this.
  signalGroup(group, 'SIGCONT')
  if (await waitUntilGone(group, graceMs)) return
  signalGroup(group, 'SIGKILL')
  await waitUntilGone(group, killMs)
}

/** Resolves with true when no process of the group is left but zombies, and with false after `limitMs`. */
export async function waitUntilGone(group: number, limitMs: number): Promise<boolean> {
  const until = performance.now() + limitMs
  for (let check = 0; isAlive(group); check++) {
    // Listing all processes costs more than a signal, so the first checks skip it.
    if (check >= 2 && hasOnlyZombies(group)) return true
    const leftMs = until - performance.now()
    if (leftMs <= 0) return false
    await sleep(Math.min(checkIntervals[check] ?? 100, leftMs))
  }
  return true
}

/**
 * Whether all remaining processes of a group are zombies. Orphans wait for process 1 to reap them, which in a container
 * often reaps none. False outside of Linux. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function hasOnlyZombies(group: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    const members = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? statusOf(name) : []))
    return members.every(([state, , id]) => id !== String(group) || state === 'Z' || state === 'X')
  } catch {
    return false
  }
}

/** Returns the state, parent and group of a process, in a list. Empty if it is gone. They follow its name. */
function statusOf(pid: string): readonly (readonly string[])[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return [stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3)]
  } catch {
    return []
  }
}

/** Whether a group has processes, also zombies. */
function isAlive(group: number): boolean {
  return signalGroup(group, 0)
}

/** Sends a signal to a group. 0 only checks for it. Returns false if no process got it. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    // ESRCH: it is gone. EPERM, on macOS: only zombies are left.
    return false
  }
}

/**
 * Reads a pipe that only this process holds. The first line names the group. A second line says that the group has
 * ended. If the pipe ends without it, this process died, and the script ends the group. It checks every 0.1 s whether
 * the group is gone, so that it never signals a later group with the same id.
 */
const script = `read -r group || exit 0
read -r ended && exit 0
kill -s TERM -- "-$group" 2>/dev/null
left=$1
while [ "$left" -gt 0 ] && kill -s 0 -- "-$group" 2>/dev/null; do sleep 0.1; left=$((left - 1)); done
kill -s KILL -- "-$group" 2>/dev/null
exit 0`

/** Ends a group of processes if this process dies, even by SIGKILL. */
interface Watchdog {
  /** Rejects if it could not be started. */
  readonly started: Promise<void>
  /** Guards this group. Call it once. */
  guard(group: number): void
  /** Lets the group alone and ends the shell. Call it when the group has ended, or was not started. */
  release(): void
}

/**
 * Starts a watchdog: a shell that ends the guarded group once this process has died, even by SIGKILL. The group has
 * `graceMs` between SIGTERM and SIGKILL. The shell is outside of our own process group, so that Ctrl+C in a
 * terminal doesn't reach it, and does not keep this process alive.
 */
export function startWatchdog(graceMs: number): Watchdog {
  const shell = spawn('/bin/sh', ['-c', script, 'sh', String(Math.ceil(graceMs / 100))], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  })
  const started = new Promise<void>((resolve, reject) => {
    shell.once('spawn', resolve)
    shell.once('error', reject)
  })
  // If the program can't be started either, its own error is enough.
  started.catch(() => {})
  // Node creates no pipe if this process has no free file descriptor.
  const pipe: Writable | undefined = shell.stdin
  // Neither the shell nor its pipe may keep this process alive, and a broken pipe is expected.
  shell.unref()
  pipe?.on('error', () => {})
  if (pipe && 'unref' in pipe && typeof pipe.unref === 'function') pipe.unref()
  return {
    started,
    guard: (group) => void pipe?.write(`${group}\n`),
    release: () => void pipe?.end('ended\n'),
  }
}
