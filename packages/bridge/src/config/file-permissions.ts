import { accessSync, constants, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * What other users of this computer can do with a file or folder: what its mode allows, if they get to it through the
 * folders above. Like PostgreSQL with its keys, a group may read a file of root: the service's own group.
 * https://www.postgresql.org/docs/current/ssl-tcp.html#SSL-SETUP
 *
 * Mounted secrets count as closed, as their modes say nothing of who is in the container: files of `/run/secrets`, and
 * those on a file system that is mounted for reading alone.
 */
export function openTo(path: string, right: 'read' | 'write'): 'others' | 'its group' | undefined {
  // Windows has no such modes.
  if (process.platform === 'win32') return undefined
  const real = realpathSync.native(path)
  if (real.startsWith('/run/secrets/') || isReadOnly(real)) return undefined
  const { mode, uid } = statSync(real)
  const [group, others] = right === 'read' ? [0o040, 0o004] : [0o020, 0o002]
  const above = foldersAbove(real)
  if ((mode & others) !== 0 && above.every((folder) => (folder & 0o001) !== 0)) return 'others'
  const isRoots = right === 'read' && uid === 0 && process.getuid?.() !== 0
  if ((mode & group) === 0 || isRoots || above.some((folder) => (folder & 0o011) === 0)) return undefined
  return 'its group'
}

function foldersAbove(path: string): readonly number[] {
  const above = dirname(path)
  return above === path ? [] : [statSync(above).mode, ...foldersAbove(above)]
}

function isReadOnly(path: string): boolean {
  try {
    if (process.platform === 'linux') return isOnReadOnlyMount(path, readFileSync('/proc/self/mountinfo', 'utf8'))
    accessSync(path, constants.W_OK)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS'
  }
}

/**
 * Whether the mount that a file lies on is for reading alone, by Linux's list of mounts. The system tells so itself only
 * to users who could write the file: others get EACCES. https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
 */
export function isOnReadOnlyMount(path: string, mountinfo: string): boolean {
  const mounts = mountinfo.split('\n').flatMap((line) => {
    const [, , , , point, options = ''] = line.split(' ')
    if (point === undefined) return []
    const folder = point.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)))
    const isAbove = folder === '/' || path === folder || path.startsWith(`${folder}/`)
    return isAbove ? [{ length: folder.length, isRead: options.split(',').includes('ro') }] : []
  })
  // Of two mounts in one place, the later one hides the other.
  return mounts.reduce((deepest, one) => (one.length >= deepest.length ? one : deepest), { length: 0, isRead: false })
    .isRead
}
