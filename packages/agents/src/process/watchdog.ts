import { spawn } from 'node:child_process'

/**
 * Waits at a pipe that only this process holds. The first line names the group. A second line says that the group has
 * ended; without it, the end of the pipe means that this process died, and the group is ended. It looks every 0.1 s
 * whether the group is gone, so that it never signals a later group with the same id.
 */
const script = `read -r group || exit 0
read -r ended && exit 0
kill -s TERM -- "-$group" 2>/dev/null
left=$1
while [ "$left" -gt 0 ] && kill -s 0 -- "-$group" 2>/dev/null; do sleep 0.1; left=$((left - 1)); done
kill -s KILL -- "-$group" 2>/dev/null
exit 0`

/** Ends a group of processes if this process dies, even by SIGKILL. */
export interface Watchdog {
  /** Rejects if it could not be started. */
  readonly started: Promise<void>
  /** From now on this group is guarded. Called once. */
  guard(group: number): void
  /** The group has ended. */
  release(): void
}

/** Starts a shell that waits, outside of our own process group: Ctrl+C in a terminal doesn't reach it. */
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
  // It ends by itself: nothing waits for it, and a pipe that it closed needs no report.
  shell.unref()
  shell.stdin.on('error', () => {})
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
  return {
    started,
    guard: (group) => {
      shell.stdin.write(`${group}\n`)
    },
    release: () => {
      shell.stdin.end('ended\n')
    },
  }
}
