/**
 * Whether a JSON text has lists and objects nested deeper than that. Tells it before the text is parsed, because what works on
 * the value may have no room for so many calls. Any other text gives any answer.
 */
export function nestsDeeper(json: string, maxDepth: number): boolean {
  // Most texts are too short for it.
  if (json.length <= maxDepth) return false
  let depth = 0
  let isInString = false
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at)
    if (unit === quote) isInString = !isInString
    else if (isInString) at += unit === backslash ? 1 : 0
    else if (unit === openList || unit === openObject) {
      depth += 1
      if (depth > maxDepth) return true
    } else if (unit === closeList || unit === closeObject) depth -= 1
  }
  return false
}

const quote = 0x22
const backslash = 0x5c
const openList = 0x5b
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d
