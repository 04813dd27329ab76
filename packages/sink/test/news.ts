/** What came into a list since the last look, each once. */
export function createNews(list: () => readonly string[]): () => readonly string[] {
  let seen = 0
  return () => {
    const news = [...new Set(list().slice(seen))]
    seen = list().length
    return news
  }
}
