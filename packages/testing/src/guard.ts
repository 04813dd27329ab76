import { spawn } from 'node:child_process'

/** Cleans up after a process that was killed. */
export interface Guard {
  /** Makes the guard end this server and its group when our process ends. Pass undefined once the server has ended. */
  watch(pid: number | undefined): void
  /** Ends the guard, because there is nothing left to clean up. */
  dismiss(): void
}

// Runs in a process of its own, in plain JavaScript because it is passed as text. Its stdin ends when our process does,
// even by SIGKILL, which test runners use to end their workers and no exit or signal handler sees.
const program = `
const { rmSync } = require('node:fs')
const [, root, signal] = process.argv
let watched = 0
let received = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  received += chunk
  const lines = received.split('\\n')
  received = lines.pop()
  if (lines.length > 0) watched = Number(lines.at(-1))
})
const send = (name) => {
  try {
    process.kill(process.platform === 'win32' ? watched : -watched, name)
    return true
  } catch {
    return false
  }
}
process.stdin.on('end', async () => {
  if (watched > 0 && send(signal) && signal !== 'SIGKILL') {
    send('SIGCONT')
    for (let tries = 0; tries < 2000 && send(0); tries++) await new Promise((resolve) => setTimeout(resolve, 10))
    send('SIGKILL')
  }
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
})
`

/**
 * Starts the guard of a throw-away folder and of the server in it: a process that kills the server and removes the
 * folder when ours ends. It doesn't keep our process alive. Nothing is guarded if it can't be started. With another
 * `signal`, the server gets 20 seconds to end by itself, also if it was stopped with SIGSTOP.
 */
export const startGuard = (root: string, signal: 'SIGKILL' | 'SIGQUIT' = 'SIGKILL'): Guard => {
  // Detached: a Control-C in the terminal goes to the whole group and must not end the guard before it has cleaned up.
  const child = spawn(process.execPath, ['-e', program, root, signal], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  // A guard that has ended can't receive messages, so sending to it may fail.
  child.stdin.on('error', () => {})
  child.on('error', () => {})
  child.unref()
  return {
    watch: (pid = 0) => {
      child.stdin.write(`${pid}\n`)
    },
    dismiss: () => {
      child.kill('SIGKILL')
    },
  }
}
