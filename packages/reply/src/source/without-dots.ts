/** Normalizes a path's text, without resolving links. For servers that return a directory as given. */
export function withoutDots(directory: string): string {
  if (!directory.startsWith('/')) return directory
  const names: string[] = []
  for (const name of directory.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return `/${names.join('/')}`
}
