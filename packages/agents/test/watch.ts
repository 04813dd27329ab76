import { readFileSync } from 'node:fs'

/** Whether a process is at work. One that has ended but was not reaped yet counts as gone. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: the state follows the name in parentheses.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}

/** All that a stream brings, as text. */
export async function textOfStream(stream: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await listOf(stream)).toString('utf8')
}

/** All that an iterable gives. */
export async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
