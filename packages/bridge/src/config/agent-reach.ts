import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/**
 * Returns the folders in which an agent reads and writes without asking: its directory and the git repository around it,
 * which is OpenCode's project. Follows links. Empty for a path that is not absolute here, for example a Windows path on Linux.
 */
export function reachOf(directory: string): readonly string[] {
  if (!isAbsolute(directory)) return []
  const real = realPathOf(directory)
  const repository = repositoryOf(real)
  return repository === undefined || repository === real ? [real] : [real, repository]
}

/**
 * Returns the first of the paths, such as those of the bridge's own files, that an agent in a directory can access. Undefined
 * if it can access none. Paths need not exist. A link on the way to a path counts like the path itself, because the agent could
 * replace the link.
 */
export function reachedFrom(directory: string, paths: readonly string[]): string | undefined {
  const reach = reachOf(directory)
  const isReached = (location: string): boolean => reach.some((folder) => isWithin(folder, location))
  return paths.find((path) => isReached(realPathOf(path)) || linksAlong(path).some(isReached))
}

/** Returns the locations of the links on the way to a path, and of those on the way to their targets. Skips broken links. */
function linksAlong(path: string): readonly string[] {
  const above = dirname(path)
  if (above === path) return []
  const links = linksAlong(above)
  const location = join(realPathOf(above), basename(path))
  // A broken or circular link points to nothing that is used.
  if (!existsSync(location) || !lstatSync(location).isSymbolicLink()) return links
  return [...links, location, ...linksAlong(resolve(dirname(location), readlinkSync(location)))]
}

/** Returns the nearest folder at or above this one that has a `.git`. Undefined if there is none. */
function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (at === dirname(at)) return undefined
  }
}

/** Whether a path is in a folder or below. True if both are the same. Both must be absolute and without links. */
function isWithin(folder: string, path: string): boolean {
  const relation = relative(folder, path)
  return relation === '' || (relation !== '..' && !relation.startsWith(`..${sep}`) && !isAbsolute(relation))
}

/**
 * Returns a path without links, as it is spelled on disk. If it doesn't exist, only its nearest folder that does is resolved.
 */
function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync.native(path)
  const above = dirname(path)
  return above === path ? path : join(realPathOf(above), basename(path))
}
