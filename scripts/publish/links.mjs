// The links of the pages that are packed.
import { posix } from 'node:path';

const FENCE_OR_LINK = /^(`{3,}).*?^\1 *$|(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)([^)\s]*)\)/gms;

/**
 * The text of a page with links that work in the package: a relative link to a file that is not packed leads to the
 * repository at this version, or becomes plain text as long as the repository is unknown. All links of the README lead to
 * the repository once it is known: the page of the package at npm shows them.
 */
export function withPublishedLinks(page, text, { isPacked, repository, version }) {
  return text.replace(FENCE_OR_LINK, (all, fence, image, label, path, anchor) => {
    if (fence !== undefined) return all;
    const target = posix.join(posix.dirname(page), path);
    const staysRelative = isPacked(target) && (page !== 'README.md' || repository === undefined);
    if (staysRelative) return all;
    if (repository === undefined) return label;
    return `${image}[${label}](${repository}/${image ? 'raw' : 'blob'}/v${version}/${target}${anchor})`;
  });
}
