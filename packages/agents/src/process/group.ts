import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** How often to look whether a group is gone, in ms: soon at first, as most processes end at once. */
const looks = [5, 10, 20, 40, 80]

/** How long the kernel may take to end a group after SIGKILL, in ms. A zombie that no process reaps stays for longer. */
const killMs = 1000

/** Ends all processes of a group: SIGTERM, and SIGKILL for those that are there after `graceMs`. Resolves when done. */
export async function endGroup(group: number, graceMs: number): Promise<void> {
  signalGroup(group, 'SIGTERM')
  // A stopped process takes SIGTERM only after this.
  signalGroup(group, 'SIGCONT')
  if (await isGone(group, graceMs)) return
  signalGroup(group, 'SIGKILL')
  await isGone(group, killMs)
}

/** Waits until no process of the group is left, for `limitMs` at most. */
export async function isGone(group: number, limitMs: number): Promise<boolean> {
  const until = performance.now() + limitMs
  for (let look = 0; isAlive(group); look++) {
    // A look at all processes costs more than a signal, so not at first.
    if (look >= 2 && hasOnlyZombies(group)) return true
    const leftMs = until - performance.now()
    if (leftMs <= 0) return false
    await sleep(Math.min(looks[look] ?? 100, leftMs))
  }
  return true
}

/**
 * Whether all that is left of a group waits to be reaped. Those that lost their parent wait for the first process, which
 * in a container often reaps none. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
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

/** The state, the parent and the group of a process: they follow its name, which may contain anything. */
function statusOf(pid: string): readonly (readonly string[])[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return [stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3)]
  } catch {
    return []
  }
}

function isAlive(group: number): boolean {
  return signalGroup(group, 0)
}

function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    // ESRCH: it is gone. EPERM, on macOS: only zombies are left.
    return false
  }
}
