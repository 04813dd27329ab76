/** Some servers return a directory as given, links included. This can only normalize the path's text. */
export function withoutDots(directory: string): string {
  if (!directory.startsWith('/')) return directory
  const names: string[] = []
  for (const name of directory.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return `/${names.join('/')}`
}
