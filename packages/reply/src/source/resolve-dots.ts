/**
 * Returns an absolute path without `.`, `..` and repeated or trailing slashes, by its text: links are not resolved.
 * Returns any other path unchanged.
 */
export function resolveDots(directory: string): string {
  if (!directory.startsWith('/')) return directory
  const names: string[] = []
  for (const name of directory.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return `/${names.join('/')}`
}
