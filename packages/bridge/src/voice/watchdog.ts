import { type ChildProcess, spawn } from 'node:child_process'

/** Reads a pipe that only this process holds. If it ends without a line, this process died. */
const waitScript = 'read -r ended || '

/**
 * Has a shell run a command if this process dies, also if it is killed. `$1` in the command is the argument. Returns a function that
 * ends the shell. Does nothing if no shell can be started.
 */
export function runIfThisDies(command: string, argument: string): () => void {
  let shell: ChildProcess
  try {
    shell = spawn('/bin/sh', ['-c', `${waitScript}${command}`, 'sh', argument], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
  } catch {
    return () => {}
  }
  shell.on('error', () => {})
  // Node creates no pipe if this process has no free file descriptor.
  shell.stdin?.on('error', () => {})
  shell.unref()
  return () => void shell.stdin?.end('ended\n')
}
