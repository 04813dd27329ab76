import { accessSync, constants, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Returns which other users of this computer have a right on a file or folder, by its mode and the modes of the folders
 * above. Undefined if there are none, and always on Windows. Throws if the path does not exist. Like PostgreSQL's keys, a file
 * of root may be readable by its group, which is then the service's own.
 * https://www.postgresql.org/docs/current/ssl-tcp.html#SSL-SETUP
 *
 * Files in `/run/secrets` and on read-only mounts count as closed: the modes of mounted secrets don't show who has access.
 */
export function otherUsersWith(path: string, right: 'read' | 'write'): 'others' | 'its group' | undefined {
  // Windows has no such modes.
  if (process.platform === 'win32') return undefined
  const real = realpathSync.native(path)
  if (real.startsWith('/run/secrets/') || isReadOnly(real)) return undefined
  const { mode, uid } = statSync(real)
  const [group, others] = right === 'read' ? [0o040, 0o004] : [0o020, 0o002]
  const above = modesOfFoldersAbove(real)
  if ((mode & others) !== 0 && above.every((folder) => (folder & 0o001) !== 0)) return 'others'
  const isRoots = right === 'read' && uid === 0 && process.getuid?.() !== 0
  if ((mode & group) === 0 || isRoots || above.some((folder) => (folder & 0o011) === 0)) return undefined
  return 'its group'
}

/** Returns the modes of the folders above a path, nearest first, up to the root. */
function modesOfFoldersAbove(path: string): readonly number[] {
  const above = dirname(path)
  return above === path ? [] : [statSync(above).mode, ...modesOfFoldersAbove(above)]
}

/** Whether the file is on a read-only mount. False if that can't be found out. */
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
 * Whether a file is on a read-only mount, by Linux's list of mounts: that of the deepest mount above it. False without one. A
 * write check doesn't help: users who can't write the file get EACCES instead of EROFS.
 * https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
 */
export function isOnReadOnlyMount(path: string, mountinfo: string): boolean {
  const mounts = mountinfo.split('\n').flatMap((line) => {
    const [, , , , point, options = ''] = line.split(' ')
    if (point === undefined) return []
    const folder = point.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)))
    const isAbove = folder === '/' || path === folder || path.startsWith(`${folder}/`)
    return isAbove ? [{ length: folder.length, isReadOnly: options.split(',').includes('ro') }] : []
  })
  // A later mount hides an earlier one at the same point.
  return mounts.reduce((deepest, one) => (one.length >= deepest.length ? one : deepest), {
    length: 0,
    isReadOnly: false,
  }).isReadOnly
}
