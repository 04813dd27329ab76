import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

interface RunningProcess {
  readonly pid: number
  readonly parent: number
  /** As `ps` shows it: `T` is stopped by a signal. */
  readonly state: string
}

/** Lists the machine's processes, without those that have ended and that their parent hasn't noticed yet. */
const listProcesses = (): readonly RunningProcess[] => {
  // Small Linux images lack `ps`, and other systems lack /proc.
  const lines = existsSync('/proc/self/stat')
    ? readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [statLine(name)] : []))
    : execFileSync('ps', ['-A', '-o', 'pid=,state=,ppid='], { encoding: 'utf8' }).split('\n')
  return lines.flatMap((line) => {
    const [, pid, state = '', parent] = /^\s*(\d+) +(\w)\S* +(\d+)/.exec(line) ?? []
    return pid === undefined || /[ZX]/.test(state) ? [] : [{ pid: Number(pid), state, parent: Number(parent) }]
  })
}

/** Returns `pid state parent …` of a process from /proc. Empty if it has ended. */
const statLine = (name: string): string => {
  try {
    // The program's name in parentheses may contain any character.
    return readFileSync(`/proc/${name}/stat`, 'utf8').replace(/\(.*\) /s, '')
  } catch {
    return ''
  }
}

/** Signals processes in this order. Skips those that have ended. */
export const signalAll = (pids: readonly number[], name: NodeJS.Signals): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }
}

/** Stops a process and its children with SIGSTOP. Resolves with their ids, the children first, when all stand still. */
export const freeze = async (pid: number): Promise<readonly number[]> => {
  signalAll([pid], 'SIGSTOP')
  // Only once it stands still, it surely starts no more children.
  await untilStopped([pid])
  const children = listProcesses().flatMap((each) => (each.parent === pid ? [each.pid] : []))
  signalAll(children, 'SIGSTOP')
  await untilStopped(children)
  return [...children, pid]
}

/** Resolves when each of these processes is stopped or has ended. */
const untilStopped = async (pids: readonly number[]): Promise<void> => {
  while (listProcesses().some(({ pid, state }) => pids.includes(pid) && state !== 'T')) await sleep(5)
}

/** Resolves when these processes have ended. */
export const untilEnded = async (pids: readonly number[]): Promise<void> => {
  while (listProcesses().some(({ pid }) => pids.includes(pid))) await sleep(5)
}
