"""Random values are repeatable, and have the format of Go's."""

import re
import uuid

import bcrypt
import pytest

from lynq.template import Environment, Limits, SeededRandom, TemplateError, render

ENVIRONMENT = Environment(now=0, random=SeededRandom(b"a node's seed"))


def drawn(source: str, environment: Environment = ENVIRONMENT) -> str:
    return render(source, {}, environment)


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ("{{ randAlphaNum 200 }}", "[0-9A-Za-z]{200}"),
        ("{{ randAlpha 200 }}", "[A-Za-z]{200}"),
        ("{{ randNumeric 200 }}", "[0-9]{200}"),
        ("{{ randAscii 500 }}", "[ -~]{500}"),
        ("{{ randBytes 20 }}", "[0-9A-Za-z+/]{27}="),
        ("{{ randInt 5 9 }}", "[5-8]"),
        ("{{ randInt -9 -8 }}", "-9"),
        ("{{ uuidv4 }}", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
    ],
)
def test_random_value_matches_its_pattern(source: str, pattern: str) -> None:
    assert re.fullmatch(pattern, drawn(source))


def test_random_values_depend_only_on_the_seed() -> None:
    source = (
        '{{ randAlphaNum 20 }} {{ uuidv4 }} {{ shuffle "abcdefghijkl" }} {{ randInt 0 1000000 }}'
    )

    assert drawn(source) == drawn(source)
    assert drawn(source) != drawn(source, Environment(now=0, random=SeededRandom(b"another")))


def test_random_values_of_a_seed_are_stable_across_releases() -> None:
    # Existing passwords were generated this way. If this test fails, all of them change.
    source = "{{ randAlphaNum 12 }} {{ randNumeric 4 }} {{ uuidv4 }}"

    assert drawn(source) == "Li0IoI1C0N2S 7336 ec9f058b-4057-4b86-a6e1-1cdf24f965b0"


def test_two_random_values_in_one_template_differ() -> None:
    first, second = drawn("{{ randAlphaNum 20 }} {{ randAlphaNum 20 }}").split()

    assert first != second


def test_random_characters_are_uniformly_distributed() -> None:
    digits = drawn("{{ randNumeric 100000 }}")

    assert all(9_500 < digits.count(digit) < 10_500 for digit in "0123456789")


def test_shuffle_keeps_the_characters() -> None:
    shuffled = drawn('{{ shuffle "añb日c" }}')

    assert sorted(shuffled) == sorted("añb日c")


def test_uuidv4_is_a_valid_uuid() -> None:
    assert uuid.UUID(drawn("{{ uuidv4 }}")).version == 4


def test_random_value_over_the_limit_fails_before_generation() -> None:
    for source in ("{{ randAlpha 9223372036854775807 }}", "{{ randBytes 9000000000000000000 }}"):
        with pytest.raises(TemplateError, match="over the limit"):
            drawn(source)


def test_hashed_passwords_verify() -> None:
    environment = Environment(now=0, random=SeededRandom(b""), limits=Limits(seconds=60))

    line = drawn('{{ htpasswd "user" "sécret" }}', environment)

    user, _, hashed = line.partition(":")
    assert user == "user"
    assert hashed.startswith("$2a$10$")
    assert bcrypt.checkpw("sécret".encode(), hashed.encode())


def test_decrypt_aes_reads_text_encrypted_by_go() -> None:
    encrypted = "4bB+r6cugLM7voZZOEtaDjFn7oTXnYKWtuKxRzL5zuE="

    decrypted = render('{{ decryptAES "secret" .text }}', {"text": encrypted}, ENVIRONMENT)

    assert decrypted == "grüße"


def test_encrypt_aes_uses_a_new_vector_each_time() -> None:
    source = '{{ encryptAES "k" "text" }}'

    assert drawn(source) != drawn(source)
    assert drawn('{{ encryptAES "k" "text" | decryptAES "k" }}') == "text"
